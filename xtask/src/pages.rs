//! Writes measured tables into documentation pages, so that nobody copies them by hand.

use std::path::{Path, PathBuf};

use super::accuracy::headings;
use super::{repository, target};

/// A part of a page between two marks, and where it comes from.
struct Part {
    page: &'static str,
    name: &'static str,
    from: fn() -> PathBuf,
    /// The part of the measured file that goes there; `None` if it is of another or an incomplete run.
    take: fn(&str) -> Option<String>,
}

const PARTS: [Part; 2] = [
    Part {
        page: "README.md",
        name: "seconds per iteration",
        from: || repository().join("target/bench/results.md"),
        take: seconds_per_iteration,
    },
    Part {
        page: "docs/accuracy.md",
        name: "schemes side by side",
        from: || target().join("accuracy/table.md"),
        take: contests,
    },
];

/// Writes the last complete measurements into the pages.
pub(super) fn write() -> Result<(), String> {
    let mut written = 0;
    for part in &PARTS {
        let (page, from) = (repository().join(part.page), (part.from)());
        let measured = std::fs::read_to_string(&from).ok();
        let Some(text) = measured.as_deref().and_then(part.take) else {
            eprintln!(
                "xtask: {} is not of a complete run; {} is left as it was",
                from.display(),
                part.name
            );
            continue;
        };
        let before = read(&page)?;
        let after = replaced(&before, part.name, &text)
            .ok_or_else(|| format!("{}: no marks for {}", page.display(), part.name))?;
        std::fs::write(&page, after).map_err(|error| format!("{}: {error}", page.display()))?;
        eprintln!("xtask: {} has the new {}", page.display(), part.name);
        written += 1;
    }
    if written == 0 {
        return Err("there are no new measurements for any page".to_owned());
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

/// What the table of the README has a row for.
const CONTENDERS: [&str; 5] = [
    "absentia eals",
    "implicit cg",
    "irspack cg",
    "cmfrec cg",
    "buffalo eals",
];

/// Command, machine and first table of a benchmark of all contenders on the shape of Yelp.
fn seconds_per_iteration(results: &str) -> Option<String> {
    let (said, rest) = results.split_once("\n\n")?;
    let table = rest.split("\n\n").next()?;
    let is_it = table.starts_with("| Seconds per iteration, yelp shape");
    let whole = CONTENDERS
        .iter()
        .all(|name| table.contains(&format!("\n| {name} |")));
    (is_it && whole && !said.contains("--quick")).then(|| format!("{table}\n\n{said}"))
}

/// The tables of all data sets, without what is said before them.
fn contests(table: &str) -> Option<String> {
    let tables = &table[table.find("### ")?..];
    let whole = headings().all(|heading| tables.contains(&heading));
    whole.then(|| tables.to_owned())
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
        let rows: String = CONTENDERS.map(|name| format!("| {name} | 1 |\n")).concat();
        let table = format!("| Seconds per iteration, yelp shape | K=32 |\n{rows}");
        let run = format!("`command` on a machine\n\n{table}\n| Peak |");
        let taken = seconds_per_iteration(&run).unwrap();
        assert!(taken.starts_with(table.trim()), "{taken}");
        assert!(taken.ends_with("\n\n`command` on a machine"), "{taken}");
        for (part, other) in [
            ("yelp", "amazon"),
            ("`command`", "`command --quick`"),
            ("buffalo", "bison"),
        ] {
            assert_eq!(seconds_per_iteration(&run.replace(part, other)), None);
        }
    }

    #[test]
    fn tables_are_taken_where_no_data_set_is_missing() {
        let all = headings().collect::<Vec<_>>().join(" a split\n\n");
        assert_eq!(contests(&format!("said\n\n{all}")).unwrap(), all);
        let first = headings().next().unwrap();
        assert_eq!(contests(&all.replace(&first, "### Other:")), None);
        assert_eq!(contests("nothing"), None);
    }
}
