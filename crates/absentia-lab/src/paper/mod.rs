//! Every table and figure of the paper, reproduced in one report.

mod beyond;
mod data;
mod error;
mod figure_five;
mod figure_four;
mod figure_three;
mod figure_two;
mod keep;
mod lab;
mod low_rank;
mod online;
mod part;
mod plan;
mod published;
mod relations;
mod scale;
mod slips;
mod statistics;
mod table_three;
mod table_two;
mod yelp;

use std::cell::RefCell;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use absentia_io::AtomicFile;
use absentia_job::Listener;
use absentia_report::format;
use absentia_report::html::Report;
use anyhow::{Context as _, Result};

pub use error::PaperError;
pub use keep::parts_folder;
use keep::{PartStore, StoredPart};
use lab::Lab;
pub use part::FinishedPart;
use plan::Unit;
pub use scale::Size;

/// What to make, of what, and where the report goes.
#[derive(Clone, Debug)]
pub struct Reproduction {
    /// The results to make.
    pub results: Vec<Target>,
    /// How much work.
    pub size: Size,
    /// The paper's own file.
    pub yelp: Option<PathBuf>,
    /// Another rating file to make everything of.
    pub ratings: Option<PathBuf>,
    /// Folder of real data sets.
    pub data: PathBuf,
    /// The report.
    pub out: PathBuf,
    /// Number of threads; what the machine allows if `None`.
    pub threads: Option<usize>,
}

/// Shows how a reproduction proceeds, and has its memory.
pub trait Progress: Listener {
    /// A remark on what happens next.
    fn note(&self, text: &str);

    /// A part of the report is finished.
    ///
    /// # Errors
    /// Nobody reads any more.
    fn finished(&self, part: &FinishedPart<'_>) -> std::io::Result<()>;
}

/// A result of the paper, or what goes beyond it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Target {
    /// The table of data sets.
    Data,
    /// Complexities as stated and as measured (made with table3).
    Table1,
    /// SVD and eALS on the same objective.
    Table2,
    /// Seconds per iteration of every method over K.
    Table3,
    /// The slow and the fast algorithm from the same start.
    Figure2,
    /// Seconds over K, Z, |R| and threads.
    Figure3,
    /// Accuracy over c0 and α.
    Figure4,
    /// Accuracy per iteration of every method.
    Figure5,
    /// Events learned one by one, as in the paper's predecessor.
    Online,
    /// Weights that the paper leaves to future work, exposure, rank, side information.
    Beyond,
    /// Errors in the paper.
    Slips,
    /// Everything.
    All,
}

impl Reproduction {
    /// Makes the parts that are not there yet and writes the report after each.
    ///
    /// # Errors
    /// A data set cannot be read or used, training fails, or the report cannot be written.
    pub fn run(&self, progress: &dyn Progress) -> Result<()> {
        let lab = Lab {
            size: self.size,
            data: self.data.clone(),
            yelp: self.yelp.clone(),
            ratings: self.ratings.clone(),
            threads: self.threads,
            memory: progress,
            chosen: RefCell::default(),
        };
        let keeper = PartStore::new(&self.out, &lab)?;
        let units = plan::units(&lab);
        let requested: Vec<&Unit> = units
            .iter()
            .filter(|unit| unit.is_requested(&self.results))
            .collect();
        self.work(&requested, &lab, &keeper, progress)?;
        self.write(&units, &lab, &keeper)
    }

    /// Makes the parts that are missing, and says how long the rest will take.
    fn work(
        &self,
        units: &[&Unit],
        lab: &Lab<'_>,
        keeper: &PartStore,
        progress: &dyn Progress,
    ) -> Result<()> {
        let todo: Vec<&&Unit> = units.iter().filter(|unit| !keeper.has(&unit.id)).collect();
        if todo.len() < units.len() {
            progress.note(&format!(
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
            progress.note(&format!(
                "[{}/{}] {} ({:.0} %{left})",
                at + 1,
                todo.len(),
                unit.title,
                100.0 * done / total
            ));
            let began = Instant::now();
            let blocks = (unit.make)(lab).with_context(|| unit.title.clone())?;
            let seconds = began.elapsed().as_secs_f64();
            progress.finished(&FinishedPart {
                blocks: &blocks,
                id: &unit.id,
                seconds,
            })?;
            keeper.keep(&unit.id, seconds, blocks)?;
            done += unit.cost;
            // If the run ends here, the report has all finished parts.
            self.write(&plan::units(lab), lab, keeper)?;
        }
        Ok(())
    }

    /// Writes all finished parts, in the order of the paper.
    fn write(&self, units: &[Unit], lab: &Lab<'_>, keeper: &PartStore) -> Result<()> {
        let mut report = Report::new("The paper, reproduced").subtitle(format!(
            "He, Tang, Du, Hong, Ren and Chua, Fast Matrix Factorization with Non-Uniform Weights on \
             Missing Data · {} size · {}",
            lab.size.name(),
            format::counted(lab.n_threads() as u64, "thread")
        ));
        let kept: Vec<(&Unit, StoredPart)> = units
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
            "absentia {} · `absentia reproduce` · {span} of work on {}",
            env!("CARGO_PKG_VERSION"),
            format::counted(lab.n_threads() as u64, "thread")
        ));
        Ok(AtomicFile::write_whole(
            &self.out,
            report.render().as_bytes(),
        )?)
    }
}
