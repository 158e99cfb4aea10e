//! `reproduce`: every table and figure of the paper made again, in one report.

mod beyond;
mod data;
mod figure_five;
mod figure_four;
mod figure_three;
mod figure_two;
mod fits;
mod keep;
mod lab;
mod low_rank;
mod paper;
mod part;
mod plan;
mod scale;
mod slips;
mod statistics;
mod table_three;
mod table_two;
mod yelp;

use std::cell::RefCell;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use absentia_cli::report::Report;
use absentia_cli::terminal::format;
use anyhow::{Context as _, Result};
use serde_json::json;

use crate::cli::Context;
use crate::failure::Outcome;
use crate::store;
use keep::{Keeper, Kept};
use lab::Lab;
use plan::Unit;
use scale::Size;

const EXAMPLES: &str = "\
Examples:
  $ absentia reproduce figure2 --size tiny --out paper/report.html
  $ absentia reproduce slips --size tiny --out paper/report.html

  all of it, a look first:    absentia reproduce --quick all
  for the record:             absentia reproduce all --out paper/report.html
  with the paper's own file:  absentia reproduce all --yelp yelp.rating
  with a file of your own:    absentia reproduce all --ratings ratings.csv

Parts that are finished are kept beside the report, in a folder of its name, and are not made again:
a run that was interrupted goes on where it was, and the report always shows all that is there.";

/// Make every table and figure of the paper again, in one report.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Reproduce {
    /// What to make.
    #[arg(value_name = "RESULT", required = true, num_args = 1..)]
    results: Vec<Target>,
    /// How much work; quick ends within five minutes on two cores.
    #[arg(long, value_name = "SIZE", default_value = "full")]
    size: Size,
    /// The same as --size quick.
    #[arg(long, conflicts_with = "size")]
    quick: bool,
    /// The paper's own file, to stand beside the published figures: user, item, rating, time.
    #[arg(long, value_name = "FILE")]
    yelp: Option<PathBuf>,
    /// Another rating file to make everything of, in any format `train` reads, with times: users and
    /// items with ten ratings, the latest of each user held out.
    #[arg(long, value_name = "FILE")]
    ratings: Option<PathBuf>,
    /// Folder of real data sets; those that are not there are left out.
    #[arg(long, value_name = "FOLDER", default_value = "../shared/data")]
    data: PathBuf,
    /// The report.
    #[arg(
        long,
        value_name = "FILE.html",
        default_value = "reproduction/report.html"
    )]
    out: PathBuf,
}

/// A result of the paper, or what goes beyond it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Target {
    /// The table of data sets.
    Data,
    /// Stated complexities with measured ones (the same run as table3).
    Table1,
    /// SVD against eALS on the same objective.
    Table2,
    /// Seconds an iteration of every method over K.
    Table3,
    /// The vanilla algorithm and the fast one, from the same start.
    Figure2,
    /// Seconds over K, Z, |R| and threads.
    Figure3,
    /// Accuracy over c0 and α.
    Figure4,
    /// Accuracy per iteration of every method.
    Figure5,
    /// Weights the paper leaves to future work, exposure, rank.
    Beyond,
    /// What is wrong in the paper.
    Slips,
    /// Everything.
    All,
}

impl Reproduce {
    pub(crate) fn run(&self, context: &Context) -> Result<Outcome> {
        let lab = Lab {
            size: if self.quick { Size::Quick } else { self.size },
            data: self.data.clone(),
            yelp: self.yelp.clone(),
            ratings: self.ratings.clone(),
            threads: context.threads,
            chosen: RefCell::default(),
        };
        store::check_writable(&self.out, &[]).or_else(|_| self.make_folder())?;
        let keeper = Keeper::new(&self.out, &lab)?;
        let units = plan::units(&lab);
        let asked: Vec<&Unit> = units
            .iter()
            .filter(|unit| unit.is_asked(&self.results))
            .collect();
        self.work(&asked, &lab, &keeper, context)?;
        self.write(&units, &lab, &keeper)?;
        context.ui.say(format!("{}", self.out.display()))?;
        context.ui.json(&json!({"report": self.out}))?;
        Ok(Outcome::Done)
    }

    fn make_folder(&self) -> Result<()> {
        if let Some(folder) = self.out.parent() {
            std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        }
        store::check_writable(&self.out, &[])
    }

    /// Makes what is not there yet, saying how long the rest will take.
    fn work(&self, units: &[&Unit], lab: &Lab, keeper: &Keeper, context: &Context) -> Result<()> {
        let ui = &context.ui;
        let todo: Vec<&&Unit> = units.iter().filter(|unit| !keeper.has(&unit.id)).collect();
        if todo.len() < units.len() {
            ui.note(format!(
                "{} of {} parts are there already",
                units.len() - todo.len(),
                units.len()
            ));
        }
        let (started, total): (Instant, f64) =
            (Instant::now(), todo.iter().map(|unit| unit.cost).sum());
        let mut done = 0.0;
        for (at, unit) in todo.iter().enumerate() {
            let left = if done > 0.0 {
                let pace = started.elapsed().as_secs_f64() / done;
                let left = Duration::from_secs_f64(pace * (total - done));
                format!(", about {} left", format::duration(left))
            } else {
                String::new()
            };
            ui.note(format!(
                "[{}/{}] {} ({:.0} %{left})",
                at + 1,
                todo.len(),
                unit.title,
                100.0 * done / total
            ));
            let began = Instant::now();
            let blocks = (unit.make)(lab).with_context(|| unit.title.clone())?;
            let seconds = began.elapsed().as_secs_f64();
            for (caption, table) in blocks.iter().filter_map(part::Block::as_table) {
                ui.say(format!("{caption}:"))?;
                ui.table(&table)?;
            }
            ui.json(&json!({"part": unit.id, "seconds": seconds, "blocks": blocks}))?;
            keeper.keep(&unit.id, seconds, blocks)?;
            done += unit.cost;
            // The report is complete at any moment, should the run be ended here.
            self.write(&plan::units(lab), lab, keeper)?;
        }
        Ok(())
    }

    /// Writes all parts that are there, in the order of the paper.
    fn write(&self, units: &[Unit], lab: &Lab, keeper: &Keeper) -> Result<()> {
        let mut report = Report::new("The paper, made again").subtitle(format!(
            "He, Tang, Du, Hong, Ren and Chua, Fast Matrix Factorization with Non-Uniform Weights on \
             Missing Data · {} size · {} threads",
            lab.size.name(),
            lab.n_threads()
        ));
        let kept: Vec<(&Unit, Kept)> = units
            .iter()
            .filter_map(|unit| Some((unit, keeper.load(&unit.id)?)))
            .collect();
        let blocks = kept.iter().flat_map(|(_, kept)| &kept.blocks);
        let findings: Vec<part::Finding> = blocks.filter_map(|b| b.finding().cloned()).collect();
        if !findings.is_empty() {
            report = part::summary(&findings).add_to(report.section("In short"));
        }
        let (mut section, mut seconds) = ("", 0.0);
        for (unit, kept) in kept {
            if section != unit.section {
                section = unit.section;
                report = report.section(section);
                for block in plan::introduction(unit.target, lab) {
                    report = block.add_to(report);
                }
            }
            report = report.paragraph(&format!("`{}`", unit.title));
            for block in &kept.blocks {
                report = block.add_to(report);
            }
            seconds += kept.seconds;
        }
        let span = format::duration(Duration::from_secs_f64(seconds));
        let report = report.footer(format!(
            "absentia {} · `absentia reproduce` · {span} of work on {} threads",
            env!("CARGO_PKG_VERSION"),
            lab.n_threads()
        ));
        store::write_text(&self.out, &report.render())
    }
}
