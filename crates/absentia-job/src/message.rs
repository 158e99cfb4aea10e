//! Events of a job in words.

use std::fmt::Display;

use absentia::data::{Merging, Unknown};

use crate::listener::Event;

/// How serious a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Good to know.
    Note,
    /// It may be a mistake.
    Warning,
}

/// What cannot be measured of held-out rows, in words.
#[must_use]
pub fn unknown_text(unknown: Unknown) -> String {
    format!(
        "{} of {} cannot be measured, because {} and {} have no earlier row",
        unknown.rows,
        counted(unknown.of as u64, "row"),
        counted(unknown.users as u64, "user"),
        counted(unknown.items as u64, "item"),
    )
}

impl Event<'_> {
    /// What happened, in words; nothing for events that are progress. `option` is how the front end calls a
    /// key of a job.
    #[must_use]
    pub fn message(&self, option: &dyn Fn(&str) -> String) -> Option<(Level, String)> {
        let text = match self {
            Self::BadRows(bad) => {
                let count = counted(bad.count(), "bad row");
                let examples: Vec<String> =
                    bad.examples().iter().map(ToString::to_string).collect();
                format!("left out {count}, among them:\n  {}", examples.join("\n  "))
            }
            Self::UnknownRows {
                files,
                left_out,
                rows,
            } => format!(
                "{}: left out {left_out} of {rows} rows whose user or item the model does not know",
                files.join(", ")
            ),
            Self::RatedZeroOrLess {
                rows,
                of,
                can_choose,
            } => {
                let of = counted(*of as u64, "row");
                let remedy = format!("{} leaves them out", option("min-rating"));
                let text = format!(
                    "{rows} of {of} are rated 0 or less and count as interactions like the others; {remedy}"
                );
                if *can_choose {
                    format!("{text}, {} raw uses their values", option("targets"))
                } else {
                    text
                }
            }
            Self::FewSharedIds {
                relation,
                entity,
                place,
                shared,
                of,
            } => format!(
                "{relation}: only {shared} of its {of} {entity} are in {place}; the others occur in this relation \
                 only (are the ids of the same kind?)"
            ),
            Self::UnknownAttributes {
                file,
                left_out,
                rows,
            } => format!(
                "{file}: left out {left_out} of {rows} rows whose attribute the model does not know"
            ),
            Self::BothUnknown { left_out, rows } => format!(
                "left out {left_out} of {rows} rows of which the model knows neither user nor item"
            ),
            Self::KeptUsers { users } => format!(
                "{} whom the model knows: kept the factors of training, whatever the attributes given here; \
                 interactions would be combined with these",
                counted(*users as u64, "user"),
            ),
            Self::WithoutAttributes { relation, users } => format!(
                "{} whom the model knows: folded in without the attributes of training, which {} {relation}:FILE would \
                 add",
                counted(*users as u64, "user"),
                option("relation"),
            ),
            Self::Overlap { rows, of } => format!(
                "{rows} of {} are held out as well, and are not trained on",
                counted(*of as u64, "row")
            ),
            Self::Merged {
                merging: Merging::LastRow,
                can_choose: true,
                ..
            } => return self.note(option).map(|text| (Level::Warning, text)),
            Self::TargetsWithoutRatings(targets) => without_ratings("targets", targets, option),
            Self::ConfidenceWithoutRatings(rule) => without_ratings("confidence", rule, option),
            event => return event.note(option).map(|text| (Level::Note, text)),
        };
        Some((Level::Warning, text))
    }

    fn note(&self, option: &dyn Fn(&str) -> String) -> Option<String> {
        Some(match self {
            Self::Prepared { step, report } => {
                let (name, after, before) = (step.name(), report.after, report.before);
                format!("{name}: kept {after} of {before} rows")
            }
            Self::Merged {
                rows,
                of,
                merging,
                can_choose,
            } => {
                let of = counted(*of as u64, "row");
                let merged = format!("{rows} of {of} repeat a pair of user and item: {merging}");
                if *can_choose {
                    format!("{merged} ({} chooses another rule)", option("duplicates"))
                } else {
                    merged
                }
            }
            Self::Times { unit, latest } => format!(
                "times are read as {}, the latest {latest} ({} chooses another unit)",
                unit.name(),
                option("time-unit")
            ),
            Self::Related {
                relation,
                entries,
                shape: (rows, columns),
                columns: names,
            } => match names {
                Some(names) => format!("{relation}: {columns} features of {rows}: {names}"),
                None => format!("{relation}: {entries} entries, {rows} × {columns}"),
            },
            Self::FoldedIn {
                users,
                items,
                kept_items,
            } => folded_text(*users, *items, *kept_items),
            Self::Unknown(unknown) => format!("held-out rows: {}", unknown_text(*unknown)),
            Self::Memory(stage) => {
                let megabytes = stage.total() >> 20;
                format!("needs about {megabytes} MiB of memory ({})", stage.name)
            }
            Self::HeldOutWithoutTimes(_) => {
                "the data has no times: rows are held out at random".to_owned()
            }
            Self::HeldOutLess { users } => format!(
                "{} had too few rows for the share: all but one of their rows are held out",
                counted(*users as u64, "user")
            ),
            Self::HeldOut { rows } => format!("held out {}", counted(*rows as u64, "row")),
            Self::Exposed { pairs, dropped: 0 } => {
                format!("{pairs} pairs were shown and not taken")
            }
            Self::Exposed { pairs, dropped } => format!(
                "{pairs} pairs were shown and not taken; {} of {} left out: held out or excluded, so not passed \
                 over",
                counted(*dropped as u64, "pair"),
                option("exposed")
            ),
            _ => return None,
        })
    }
}

fn folded_text(users: usize, items: usize, kept: usize) -> String {
    let users = counted(users as u64, "user");
    let folded = format!(
        "folded in {users} and {}",
        counted(items as u64, "new item")
    );
    match kept {
        0 => folded,
        1 => {
            format!("{folded}; an item that the model knows keeps the factors it was trained with")
        }
        _ => format!(
            "{folded}; {kept} items that the model knows keep the factors they were trained with"
        ),
    }
}

fn without_ratings(key: &str, value: &dyn Display, option: &dyn Fn(&str) -> String) -> String {
    format!(
        "{} {value} depends on ratings, and the data has none, so that all values are 1; name their column \
         with {}",
        option(key),
        option("rating-col")
    )
}

fn counted(n: u64, thing: &str) -> String {
    let end = if n == 1 { "" } else { "s" };
    format!("{n} {thing}{end}")
}
