//! The parts of the report in the order of the paper, with their costs.

use absentia_job::while_held;
use anyhow::Result;

use super::data::{Set, Source, sources};
use super::lab::Lab;
use super::part::Block;
use super::scale::Size;
use super::{
    Target, beyond, figure_five, figure_four, figure_three, figure_two, low_rank, online,
    relations, slips, statistics, table_three, table_two, yelp,
};

/// How a part is made.
type Make = Box<dyn Fn(&Lab<'_>) -> Result<Vec<Block>>>;

/// A part of the report, made and stored as a whole.
pub(super) struct Unit {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) section: &'static str,
    pub(super) target: Target,
    /// Expected share of the work, relative to the other parts.
    pub(super) cost: f64,
    pub(super) make: Make,
}

impl Unit {
    fn new(
        target: Target,
        name: &str,
        cost: f64,
        make: impl Fn(&Lab<'_>) -> Result<Vec<Block>> + 'static,
    ) -> Self {
        let section = section(target);
        let word = section.split(':').next().unwrap_or(section);
        let id = format!("{} {name}", word.to_lowercase());
        Self {
            id: id.replace(|c: char| !c.is_ascii_alphanumeric(), "-"),
            title: format!("{word}, {name}"),
            section,
            target,
            cost,
            make: Box::new(make),
        }
    }

    pub(super) fn is_requested(&self, targets: &[Target]) -> bool {
        let matches = |target: &Target| match target {
            Target::All => true,
            // Both tables come from the same run.
            Target::Table1 => self.target == Target::Table3,
            other => *other == self.target,
        };
        targets.iter().any(matches)
    }
}

fn section(target: Target) -> &'static str {
    match target {
        Target::Data => "Data sets: what is measured on",
        Target::Table2 => "Table II: SVD and eALS on the same objective",
        Target::Figure2 => "Figure 2: the vanilla and the fast algorithm",
        Target::Figure3 => "Figure 3: seconds an iteration",
        Target::Table1 | Target::Table3 => "Tables I and III: seconds an iteration of every method",
        Target::Figure4 => "Figure 4: weights on missing entries",
        Target::Figure5 => "Figure 5: accuracy per iteration",
        Target::Online => "Online learning: every event predicted, then learned",
        Target::Beyond => "Beyond the paper: other weights, exposure, rank, side information",
        Target::Slips | Target::All => "Slips of the paper",
    }
}

/// The introduction of a section.
pub(super) fn introduction(target: Target, lab: &Lab<'_>) -> Vec<Block> {
    match target {
        Target::Figure4 => figure_four::introduction(),
        Target::Figure5 => figure_five::introduction(lab),
        Target::Online => online::introduction(),
        Target::Beyond => beyond::introduction(lab),
        _ => Vec::new(),
    }
}

/// Every part that can be made with the available data.
pub(super) fn units(lab: &Lab<'_>) -> Vec<Unit> {
    let sets = sources(lab);
    let name = "users, items, entries";
    let mut units = vec![Unit::new(Target::Data, name, 1.0, statistics::blocks)];
    units.extend(correctness(&sets));
    units.extend(efficiency(lab));
    units.extend(effectiveness(&sets));
    units.extend(sets.iter().filter(|set| set.has_times()).map(streamed));
    units.extend(further(&sets, lab));
    let name = "found by reading, computing and measuring";
    units.push(Unit::new(Target::Slips, name, 2.0, slips::blocks));
    units
}

/// A part made of one data set; its cost is relative to that of one training run on it.
fn of_set(
    target: Target,
    label: &str,
    set: Source,
    cost: f64,
    make: fn(&Lab<'_>, &Set) -> Result<Vec<Block>>,
) -> Unit {
    let (name, cost) = (format!("{label}{}", set.name), cost * set.work());
    let make = move |lab: &Lab<'_>| lab.with_set(&set, |set| make(lab, set));
    Unit::new(target, &name, cost, make)
}

/// The part of a data set with times that is learned event by event.
fn streamed(set: &Source) -> Unit {
    let (set, cost) = (set.clone(), 60.0 * set.work());
    let name = set.name.clone();
    let make = move |lab: &Lab<'_>| {
        if let Some(stage) = set.reading() {
            lab.memory.enter(stage)?;
        }
        let stream = set.stream(lab.size)?;
        while_held(lab.memory, stream.bytes(), || online::blocks(lab, &stream))
    };
    Unit::new(Target::Online, &name, cost, make)
}

/// Sets on which the paper's comparisons of methods are made.
fn large(sets: &[Source]) -> impl Iterator<Item = Source> {
    sets.iter().filter(|set| !set.is_small()).cloned()
}

fn correctness(sets: &[Source]) -> Vec<Unit> {
    let own = sets.iter().filter(|set| set.is_the_papers()).cloned();
    let label = "the authors' program on ";
    let mut units: Vec<Unit> = own
        .map(|set| of_set(Target::Table2, label, set, 20.0, yelp::blocks))
        .collect();
    units.extend(large(sets).map(|set| of_set(Target::Table2, "", set, 20.0, table_two::blocks)));
    let name = "generated data";
    units.push(Unit::new(Target::Figure2, name, 3.0, figure_two::blocks));
    units
}

fn efficiency(lab: &Lab<'_>) -> Vec<Unit> {
    let mut units = Vec::new();
    for (name, shape) in lab.size.shapes() {
        let cost = shape.entries as f64 / 1e5;
        let make = move |lab: &Lab<'_>| figure_three::blocks(lab, name, &shape);
        units.push(Unit::new(Target::Figure3, name, cost, make));
    }
    let name = "the vanilla algorithm";
    units.push(Unit::new(Target::Figure3, name, 3.0, figure_three::vanilla));
    for (name, shape) in lab.size.shapes() {
        let cost = 10.0 + shape.entries as f64 / 3e4;
        let make = move |lab: &Lab<'_>| table_three::blocks(lab, name, &shape);
        units.push(Unit::new(Target::Table3, name, cost, make));
    }
    units
}

fn effectiveness(sets: &[Source]) -> Vec<Unit> {
    let four = |set| of_set(Target::Figure4, "", set, 15.0, figure_four::blocks);
    let five = |set| of_set(Target::Figure5, "", set, 40.0, figure_five::blocks);
    let mut units: Vec<Unit> = sets.iter().cloned().map(four).collect();
    units.extend(large(sets).map(five));
    units
}

fn further(sets: &[Source], lab: &Lab<'_>) -> Vec<Unit> {
    let size = lab.size;
    let weights = |set| of_set(Target::Beyond, "weights on ", set, 7.0, beyond::weights);
    let exposure = |set| of_set(Target::Beyond, "exposure on ", set, 7.0, beyond::exposure);
    let rank = |set| {
        of_set(
            Target::Beyond,
            "rank of weights on ",
            set,
            15.0,
            low_rank::blocks,
        )
    };
    let mut units: Vec<Unit> = sets.iter().cloned().map(weights).collect();
    let shown = sets.iter().filter(|set| set.has_exposure()).cloned();
    units.extend(shown.map(exposure));
    let small = sets.iter().filter(|set| set.is_dense_enough(size)).cloned();
    units.extend(small.map(rank));
    if let Some(folder) = relations::folder(lab).filter(|_| size != Size::Tiny) {
        let make = move |lab: &Lab<'_>| relations::blocks(lab, &folder);
        let name = "side information on CiteULike";
        units.push(Unit::new(Target::Beyond, name, 8.0, make));
    }
    units
}
