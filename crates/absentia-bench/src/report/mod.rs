//! Writes what was measured: tables, a JSON file and a page of charts.

mod charts;
mod markdown;
#[cfg(test)]
mod tests;

use std::path::Path;

use anyhow::{Context, Result};

use crate::results::Results;

/// Prints the tables and writes them, the numbers and the charts to a folder.
pub(crate) fn write(results: &Results, folder: &Path, name: &str) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let table = markdown::document(results);
    println!("{table}");
    let save = |file: &str, text: String| {
        let path = folder.join(file);
        std::fs::write(&path, text).with_context(|| path.display().to_string())?;
        eprintln!("wrote {}", path.display());
        anyhow::Ok(())
    };
    save(&format!("{name}.md"), table)?;
    save(
        &format!("{name}.json"),
        serde_json::to_string_pretty(results)?,
    )?;
    match charts::page(results) {
        Some(page) => save("charts.html", page),
        None => Ok(()),
    }
}
