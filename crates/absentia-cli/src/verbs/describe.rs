//! `describe`: what is worth knowing about data before training on it.

use std::collections::BTreeMap;

use absentia::data::{Description, Quantiles};
use absentia::error::Axis;
use absentia_io::Column as Role;
use absentia_io::time::{Moment, TimeUnit};
use absentia_job::Listener as _;
use absentia_report::format;
use absentia_report::terminal::{Cell, Column, Table, key_values, long_tail};

use crate::args::DataArgs;
use crate::cli::Context;
use crate::failure::Outcome;
use crate::guard::Files;
use crate::loading::load;
use crate::ui::Ui;

const EXAMPLES: &str = "\
Examples:
  $ absentia describe ratings.csv
  $ absentia describe ratings.csv --min-rating 4 --k-core 2 --json";

/// Count users, items and rows, and show how unevenly rows are spread.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Describe {
    #[command(flatten)]
    pub(crate) data: DataArgs,
}

impl Describe {
    /// Every file that the command reads or writes.
    pub(crate) fn files(&self) -> Files {
        Files::default().reads_data(&self.data)
    }

    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Outcome> {
        let loaded = load(&self.data, &context.ui)?;
        let grouping = loaded.log.bytes_to_group(loaded.users.len());
        context
            .ui
            .enter(loaded.stage("describing").with("rows by user", grouping))?;
        let description = loaded.log.describe();
        let columns = context.ui.columns_read();
        context.ui.json(&DescribedData {
            columns: columns
                .iter()
                .map(|(role, name)| (role.name(), &name[..]))
                .collect(),
            description: &description,
        })?;
        if !context.ui.is_json() {
            let counts = loaded.log.counts(Axis::Item);
            let counts: Vec<u64> = counts.into_iter().map(u64::from).collect();
            show(&description, &columns, &counts, &context.ui)?;
        }
        Ok(Outcome::Done)
    }
}

/// What is printed as JSON.
#[derive(serde::Serialize)]
struct DescribedData<'d> {
    /// The heading or place of the column that was read for each role.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    columns: BTreeMap<&'d str, &'d str>,
    #[serde(flatten)]
    description: &'d Description,
}

/// Which column was read as what, in words.
fn columns_text(columns: &[(Role, String)]) -> String {
    let shown = columns
        .iter()
        .map(|(role, name)| format!("{role} from {name:?}"));
    shown.collect::<Vec<_>>().join(", ")
}

fn show(
    found: &Description,
    columns: &[(Role, String)],
    counts: &[u64],
    ui: &Ui,
) -> std::io::Result<()> {
    let mut facts = Vec::new();
    if !columns.is_empty() {
        facts.push(("read", columns_text(columns)));
    }
    facts.extend([
        ("users", format::count(found.users as u64)),
        ("items", format::count(found.items as u64)),
        ("rows", format::count(found.rows as u64)),
        ("repeated pairs", format::count(found.duplicates as u64)),
        ("density", format::percent(found.density)),
        ("Gini of items", format::significant(found.item_gini, 3)),
        (
            "rows on the top 1% of items",
            format::percent(found.top_1_percent),
        ),
        (
            "rows on the top 10% of items",
            format::percent(found.top_10_percent),
        ),
    ]);
    if let Some((first, last)) = found.span {
        let unit = TimeUnit::of_latest(last);
        let (first, last) = (when(first, unit), when(last, unit));
        facts.push(("time", format!("{first} to {last}")));
    }
    ui.say(key_values(facts, ui.screen()))?;
    ui.table(&quantiles(found))?;
    ui.say(long_tail("rows of an item, by popularity", counts).render(ui.screen()))
}

fn quantiles(found: &Description) -> Table {
    let headings = ["min", "25%", "median", "75%", "90%", "99%", "max", "mean"];
    let columns = headings.into_iter().map(Column::right);
    let mut table = Table::new(std::iter::once(Column::left("")).chain(columns));
    add(&mut table, "rows of a user", &found.user_rows);
    add(&mut table, "rows of an item", &found.item_rows);
    if let Some(values) = &found.values {
        add(&mut table, "rating", values);
    }
    table
}

fn add(table: &mut Table, name: &str, q: &Quantiles) {
    let values = [q.min, q.p25, q.median, q.p75, q.p90, q.p99, q.max, q.mean];
    let cells = values.map(|value| Cell::number(value, format::significant(value, 4)));
    table.row(std::iter::once(Cell::text(name)).chain(cells));
}

/// A unix time as a date where it looks like one.
fn when(time: i64, unit: TimeUnit) -> String {
    const DAY: i64 = 86_400;
    let seconds = unit.seconds(time);
    if (100_000_000..10_000_000_000).contains(&seconds) {
        Moment(seconds - seconds.rem_euclid(DAY)).to_string()
    } else {
        time.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unix_times_are_shown_as_dates() {
        assert_eq!(
            when(951_868_800, TimeUnit::of_latest(951_868_800)),
            "2000-03-01"
        );
        assert_eq!(
            when(1_582_977_601_000, TimeUnit::of_latest(1_582_977_601_000)),
            "2020-02-29"
        );
        assert_eq!(when(17, TimeUnit::of_latest(17)), "17");
    }
}
