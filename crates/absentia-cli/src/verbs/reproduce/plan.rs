//! Which parts there are, in the order of the paper, and what each costs.

use anyhow::Result;

use super::data::sources;
use super::lab::Lab;
use super::part::Block;
use super::{
    Target, beyond, figure_five, figure_four, figure_three, figure_two, low_rank, slips,
    table_three, table_two, yelp,
};

/// A part of the report that is made and kept as a whole.
pub(super) struct Unit {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) section: &'static str,
    pub(super) target: Target,
    /// Expected share of the work, in no unit.
    pub(super) cost: f64,
    pub(super) make: Box<dyn Fn(&Lab) -> Result<Vec<Block>>>,
}

impl Unit {
    fn new(
        target: Target,
        name: &str,
        cost: f64,
        make: impl Fn(&Lab) -> Result<Vec<Block>> + 'static,
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

    pub(super) fn is_asked(&self, targets: &[Target]) -> bool {
        let asks = |target: &Target| match target {
            Target::All => true,
            // Both tables come from the same run.
            Target::Table1 => self.target == Target::Table3,
            other => *other == self.target,
        };
        targets.iter().any(asks)
    }
}

fn section(target: Target) -> &'static str {
    match target {
        Target::Table2 => "Table II: SVD and eALS on the same objective",
        Target::Figure2 => "Figure 2: the vanilla and the fast algorithm",
        Target::Figure3 => "Figure 3: seconds an iteration",
        Target::Table1 | Target::Table3 => "Tables I and III: seconds an iteration of every method",
        Target::Figure4 => "Figure 4: weights on missing entries",
        Target::Figure5 => "Figure 5: accuracy per iteration",
        Target::Beyond => "Beyond the paper: other weights, exposure, rank",
        Target::Slips | Target::All => "Slips of the paper",
    }
}

/// What stands at the head of a section.
pub(super) fn introduction(target: Target, lab: &Lab) -> Vec<Block> {
    match target {
        Target::Figure4 => figure_four::introduction(),
        Target::Figure5 => figure_five::introduction(),
        Target::Beyond => beyond::introduction(lab),
        _ => Vec::new(),
    }
}

/// Every part that can be made with what is at hand.
pub(super) fn units(lab: &Lab) -> Vec<Unit> {
    let sets = sources(&lab.data, lab.size);
    let mut units = Vec::new();
    if lab.yelp.is_some() {
        units.push(Unit::new(
            Target::Table2,
            "the paper's own file",
            40.0,
            yelp::blocks,
        ));
    }
    for set in sets.iter().copied().filter(|set| !set.is_small()) {
        units.push(Unit::new(
            Target::Table2,
            set.name,
            20.0 * set.work(),
            move |lab| table_two::blocks(lab, &lab.load(&set)?),
        ));
    }
    units.push(Unit::new(
        Target::Figure2,
        "generated data",
        3.0,
        figure_two::blocks,
    ));
    for (name, shape) in lab.size.shapes() {
        units.push(Unit::new(
            Target::Figure3,
            name,
            shape.entries as f64 / 1e5,
            {
                let shape = shape.clone();
                move |lab| figure_three::blocks(lab, name, &shape)
            },
        ));
    }
    units.push(Unit::new(
        Target::Figure3,
        "the vanilla algorithm",
        3.0,
        figure_three::vanilla,
    ));
    for (name, shape) in lab.size.shapes() {
        units.push(Unit::new(
            Target::Table3,
            name,
            10.0 + shape.entries as f64 / 3e4,
            move |lab| table_three::blocks(lab, name, &shape),
        ));
    }
    for set in sets.iter().copied() {
        units.push(Unit::new(
            Target::Figure4,
            set.name,
            15.0 * set.work(),
            move |lab| figure_four::blocks(lab, &lab.load(&set)?),
        ));
    }
    for set in sets.iter().copied().filter(|set| !set.is_small()) {
        units.push(Unit::new(
            Target::Figure5,
            set.name,
            25.0 * set.work(),
            move |lab| figure_five::blocks(lab, &lab.load(&set)?),
        ));
    }
    for set in sets.iter().copied() {
        units.push(Unit::new(
            Target::Beyond,
            &format!("weights on {}", set.name),
            7.0 * set.work(),
            move |lab| beyond::weights(lab, &lab.load(&set)?),
        ));
    }
    for set in sets.iter().copied().filter(|set| set.has_exposure()) {
        units.push(Unit::new(
            Target::Beyond,
            &format!("exposure on {}", set.name),
            7.0 * set.work(),
            move |lab| beyond::exposure(lab, &lab.load(&set)?),
        ));
    }
    for set in sets.iter().copied().filter(|set| set.is_dense_enough()) {
        units.push(Unit::new(
            Target::Beyond,
            &format!("rank of weights on {}", set.name),
            15.0 * set.work(),
            move |lab| low_rank::blocks(lab, &lab.load(&set)?),
        ));
    }
    units.push(Unit::new(
        Target::Slips,
        "found by reading, computing and measuring",
        2.0,
        slips::blocks,
    ));
    units
}
