//! Measured tables in pages, put there by the program that measured them and not by hand.

use std::path::Path;

use super::repository;

/// A part of a page between two marks, and where it comes from.
struct Part {
    page: &'static str,
    name: &'static str,
    from: &'static str,
    /// What of the measured file goes there; nothing where it has other tables.
    take: fn(&str) -> Option<String>,
}

const PARTS: [Part; 2] = [
    Part {
        page: "README.md",
        name: "seconds per iteration",
        from: "target/bench/results.md",
        take: seconds_per_iteration,
    },
    Part {
        page: "docs/accuracy.md",
        name: "schemes side by side",
        from: "target/accuracy/table.md",
        take: contests,
    },
];

/// Writes what was measured last into the pages; what was not stays.
pub(super) fn write() -> Result<(), String> {
    for part in &PARTS {
        let (page, from) = (repository().join(part.page), repository().join(part.from));
        let measured = std::fs::read_to_string(&from).ok();
        let Some(text) = measured.as_deref().and_then(part.take) else {
            eprintln!("xtask: {} does not have {}", from.display(), part.name);
            continue;
        };
        let before = read(&page)?;
        let after = replaced(&before, part.name, &text)
            .ok_or_else(|| format!("{}: no marks for {}", page.display(), part.name))?;
        std::fs::write(&page, after).map_err(|error| format!("{}: {error}", page.display()))?;
        eprintln!("xtask: {} has {} of now", page.display(), part.name);
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// The page with another text between the marks of this name.
fn replaced(page: &str, name: &str, text: &str) -> Option<String> {
    let (start, end) = (format!("<!-- measured: {name} -->"), "<!-- end -->");
    let from = page.find(&start)? + start.len();
    let to = from + page[from..].find(end)?;
    Some(format!(
        "{}\n{}\n{}",
        &page[..from],
        text.trim(),
        &page[to..]
    ))
}

/// Command, machine and first table of a benchmark on the shape of Yelp.
fn seconds_per_iteration(results: &str) -> Option<String> {
    let (said, rest) = results.split_once("\n\n")?;
    let table = rest.split("\n\n").next()?;
    let is_it = table.starts_with("| Seconds per iteration, yelp shape");
    is_it.then(|| format!("{table}\n\n{said}"))
}

/// The tables of all data sets, without what is said before them.
fn contests(table: &str) -> Option<String> {
    Some(table[table.find("### ")?..].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_stay_and_what_is_between_them_goes() {
        let page = "a\n<!-- measured: tea -->\nold\n<!-- end -->\nb\n";
        let new = replaced(page, "tea", "new\n").unwrap();
        assert_eq!(new, "a\n<!-- measured: tea -->\nnew\n<!-- end -->\nb\n");
        assert_eq!(replaced(&new, "tea", "new").unwrap(), new);
        assert_eq!(replaced(page, "coffee", "new"), None);
    }

    #[test]
    fn pages_have_the_marks() {
        for part in &PARTS {
            let page = read(&repository().join(part.page)).unwrap();
            assert!(replaced(&page, part.name, "x").is_some(), "{}", part.page);
        }
    }

    #[test]
    fn only_the_table_that_is_meant_is_taken() {
        let yelp = "`command` on a machine\n\n| Seconds per iteration, yelp shape | K=32 |\n| a | 1 |\n\n| Peak |";
        let taken = seconds_per_iteration(yelp).unwrap();
        assert!(
            taken.ends_with("| a | 1 |\n\n`command` on a machine"),
            "{taken}"
        );
        assert_eq!(seconds_per_iteration(&yelp.replace("yelp", "amazon")), None);
        assert_eq!(contests("said\n\n### A\n| b |").unwrap(), "### A\n| b |");
        assert_eq!(contests("nothing"), None);
    }
}
