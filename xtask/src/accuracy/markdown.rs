//! The table of contenders, as Markdown and as JSON.

use serde_json::{Value, json};

use super::measure::{Difference, Estimate, Figures};
use super::sets::Source;

/// Seconds of a training.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Took {
    /// Of the whole command, reading and saving included.
    command: f64,
    /// Of the fit alone.
    fit: f64,
}

impl Took {
    /// From what the command took and the last line of JSON that it printed.
    pub(super) fn new(command: f64, said: &str) -> Result<Self, String> {
        let last = said.lines().last().unwrap_or_default();
        let report: Value = serde_json::from_str(last).unwrap_or_default();
        let fit = report["seconds"].as_f64();
        let fit = fit.ok_or_else(|| format!("no seconds of a training in: {last}"))?;
        Ok(Self { command, fit })
    }
}

/// A contender and what it reached.
pub(super) struct Row {
    pub(super) contender: String,
    pub(super) settings: String,
    pub(super) figures: Figures,
    pub(super) took: Took,
    /// Whether a search of ours chose its settings.
    pub(super) is_tuned: bool,
}

/// How the table of a data set begins.
pub(super) fn heading(name: &str) -> String {
    format!("### {name}:")
}

/// The contenders on a data set.
pub(super) struct Contest {
    pub(super) source: &'static Source,
    pub(super) rows: Vec<Row>,
}

impl Contest {
    /// Recall of the best that a search of ours found.
    fn best_tuned(&self) -> f64 {
        let tuned = self.rows.iter().filter(|row| row.is_tuned);
        let recalls = tuned.map(|row| row.figures.recall.value);
        recalls.fold(f64::NAN, f64::max)
    }

    fn share(&self, row: &Row) -> f64 {
        row.figures.recall.value / self.best_tuned()
    }

    fn markdown(&self) -> String {
        let source = self.source;
        let users = self.rows.first().map_or(0, |row| row.figures.users);
        let mut text = format!(
            "{} {}, K = {}, {users} users measured\n\n\
             | contender | settings | recall@20 | NDCG@20 | recall@20 over tuned uniform | of the best tuned | seconds |\n\
             | --- | --- | --- | --- | --- | --- | --- |\n",
            heading(source.name),
            source.protocol,
            source.factors
        );
        for row in &self.rows {
            let figures = &row.figures;
            let cells = [
                row.contender.clone(),
                row.settings.clone(),
                with_interval(figures.recall, plain),
                with_interval(figures.ndcg, plain),
                figures.difference.map_or_else(|| "–".to_owned(), gain),
                format!("{:.1} %", 100.0 * self.share(row)),
                format!("{:.1} ({:.1})", row.took.command, row.took.fit),
            ];
            // A bar would end the cell.
            let cells = cells.map(|cell| cell.replace('|', "\\|"));
            text = text + "| " + &cells.join(" | ") + " |\n";
        }
        text
    }

    fn json(&self) -> Value {
        let rows = self.rows.iter().map(|row| {
            let mut value = row.figures.json();
            value["contender"] = row.contender.clone().into();
            value["settings"] = row.settings.clone().into();
            value["share of the best tuned"] = self.share(row).into();
            value["seconds"] = json!({"command": row.took.command, "fit": row.took.fit});
            value
        });
        json!({
            "set": self.source.id,
            "protocol": self.source.protocol,
            "factors": self.source.factors,
            "contenders": rows.collect::<Vec<Value>>(),
        })
    }
}

/// All tables with what they need to be read alone.
pub(super) fn markdown(contests: &[Contest], seconds: u32) -> String {
    let tables: Vec<String> = contests.iter().map(Contest::markdown).collect();
    format!(
        "Made by `cargo xtask accuracy table --seconds {seconds}`. Every search had {seconds} seconds and one thread, \
         two ran at a time, and chose by rows held out of the training rows; `implicit` had the same held-out rows. \
         All items that a user has not in training are ranked. In brackets 95 % intervals over users, which know \
         nothing of the seed of training; differences are paired by user, with a bootstrap interval and the p of the \
         paired t-test. Seconds of the final training, alone with two threads: the \
         whole command, and in brackets the fit without reading, choosing settings and saving. \"of the best tuned\" is the recall@20 over that of the best search of ours.\n\n{}",
        tables.join("\n")
    )
}

pub(super) fn json(contests: &[Contest], seconds: u32) -> Value {
    let sets: Vec<Value> = contests.iter().map(Contest::json).collect();
    json!({"seconds of a search": seconds, "sets": sets})
}

fn with_interval(estimate: Estimate, number: fn(f64) -> String) -> String {
    let Estimate { value, low, high } = estimate;
    format!("{} ({} to {})", number(value), number(low), number(high))
}

fn gain(difference: Difference) -> String {
    let p = match difference.p {
        p if p < 1e-4 => "p < .0001".to_owned(),
        p => format!("p = {}", plain(p)),
    };
    format!("{}, {p}", with_interval(difference.by, signed))
}

/// Four digits after the point, and nothing before it.
fn plain(number: f64) -> String {
    let text = format!("{number:.4}");
    match text.strip_prefix('0') {
        Some(rest) => rest.to_owned(),
        None => text,
    }
}

fn signed(number: f64) -> String {
    let sign = if number < 0.0 { '−' } else { '+' };
    format!("{sign}{}", plain(number.abs()))
}

#[cfg(test)]
mod tests {
    use super::super::sets::SOURCES;
    use super::*;

    fn row(contender: &str, recall: f64, is_tuned: bool) -> Row {
        let estimate = |value| Estimate {
            value,
            low: value - 0.01,
            high: value + 0.01,
        };
        let by = estimate(recall - 0.2);
        Row {
            contender: contender.to_owned(),
            settings: "a|b".to_owned(),
            figures: Figures {
                recall: estimate(recall),
                ndcg: estimate(0.1),
                difference: (contender != "uniform").then_some(Difference { by, p: 0.03 }),
                users: 1000,
            },
            took: Took::new(1.25, "{\"iteration\":1}\n{\"seconds\":0.5}\n").unwrap(),
            is_tuned,
        }
    }

    fn contest() -> Contest {
        Contest {
            source: &SOURCES[0],
            rows: vec![
                row("uniform", 0.2, true),
                row("defaults", 0.195, false),
                row("implicit", 0.4, false),
            ],
        }
    }

    #[test]
    fn a_row_has_figures_gain_share_and_seconds() {
        let text = contest().markdown();
        let wanted = "| defaults | a\\|b | .1950 (.1850 to .2050) | .1000 (.0900 to .1100) | \
                      −.0050 (−.0150 to +.0050), p = .0300 | 97.5 % | 1.2 (0.5) |";
        assert!(text.lines().any(|line| line == wanted), "{text}");
        assert!(text.starts_with("### Gowalla: LightGCN's split, K = 128, 1000 users measured\n"));
    }

    #[test]
    fn every_row_has_as_many_cells_as_the_head() {
        let text = contest().markdown().replace("\\|", "");
        let rows = text.lines().filter(|line| line.starts_with('|'));
        assert!(
            rows.clone().count() == 5
                && rows.into_iter().all(|line| line.matches('|').count() == 8)
        );
    }

    #[test]
    fn the_best_tuned_is_a_search_of_ours() {
        assert!((contest().best_tuned() - 0.2).abs() < 1e-12);
        let json = json(&[contest()], 15);
        let contenders = &json["sets"][0]["contenders"];
        assert_eq!(contenders[2]["contender"], "implicit");
        assert!((contenders[2]["share of the best tuned"].as_f64().unwrap() - 2.0).abs() < 1e-12);
        assert!(contenders[0]["recall@20 over tuned uniform"].is_null());
    }

    #[test]
    fn small_p_is_a_bound_and_a_report_without_seconds_is_refused() {
        let by = Estimate {
            value: 1.5,
            low: -0.00001,
            high: 2.0,
        };
        let text = gain(Difference { by, p: 1e-9 });
        assert_eq!(text, "+1.5000 (−.0000 to +2.0000), p < .0001");
        assert!(Took::new(1.0, "no").is_err());
    }
}
