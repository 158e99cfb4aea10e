//! Figure 2: the vanilla algorithm and the fast one, from the same start.

use absentia::Solver;
use absentia::evaluate::TestSet;
use anyhow::Result;

use super::lab::{Lab, METRICS, Moment, Setting, popularity};
use super::part::{AxisScale, Block, Grid, Lines};
use crate::generate::{Generator, TestItems};

/// The paper's K.
const FACTORS: [usize; 2] = [1, 5];

pub(super) fn blocks(lab: &Lab<'_>) -> Result<Vec<Block>> {
    let shape = lab.size.vanilla_shape();
    let generator = Generator::new(shape.clone())?;
    let data = generator.interactions()?;
    let test = TestSet::from_interactions(&generator.held_out(TestItems::Exposure, 1)?);
    let mut grid = Grid::new(
        "Largest difference between the two, over all sweeps",
        ["K", "loss, relative", METRICS[0], METRICS[1]],
    );
    let mut charts = Vec::new();
    for factors in FACTORS {
        let run = |solver: Solver| -> Result<Vec<Moment>> {
            let setting = Setting {
                scheme: popularity(64.0, 0.4),
                params: lab
                    .params(factors, lab.size.sweeps().min(20))
                    .solver(solver)
                    .init_std(0.1),
            };
            Ok(lab.followed(&data, &test, &setting)?.1)
        };
        let (vanilla, fast) = (run(Solver::EalsVanilla)?, run(Solver::Eals)?);
        let largest = |of: &dyn Fn(&Moment, &Moment) -> f64| {
            let pairs = vanilla.iter().zip(&fast);
            pairs.map(|(x, y)| of(x, y)).fold(0.0, f64::max)
        };
        let metric = |at: usize| largest(&move |x, y| (x.metrics[at] - y.metrics[at]).abs());
        grid.row([
            factors.to_string(),
            format!(
                "{:.1e}",
                largest(&|x, y| (x.objective / y.objective - 1.0).abs())
            ),
            format!("{:.1e}", metric(0)),
            format!("{:.1e}", metric(1)),
        ]);
        charts.extend(curves(factors, &vanilla, &fast));
    }
    Ok(vec![
        Block::text(format!(
            "Generated data, {} × {} with {} entries, popularity weights (c0 = 64, α = 0.4); both \
             algorithms start from the same factors. The paper shows the same curves for Yelp and \
             calls the results exactly the same; here is how far rounding takes them apart.",
            shape.users, shape.items, shape.entries
        )),
        Block::Table(grid),
        Block::Small(charts),
    ])
}

/// The loss and both metrics of the two.
fn curves(factors: usize, vanilla: &[Moment], fast: &[Moment]) -> [Lines; 3] {
    let curve = |moments: &[Moment], of: fn(&Moment) -> f64| -> Vec<(f64, f64)> {
        let values = (1..).map(f64::from).zip(moments);
        values.map(|(at, moment)| (at, of(moment))).collect()
    };
    let chart = |what: &str, of: fn(&Moment) -> f64| {
        let title = format!("{what}, K = {factors}");
        Lines::new(
            title,
            (AxisScale::Whole, "sweep"),
            (AxisScale::Linear, what),
        )
        .series("vanilla", curve(vanilla, of))
        .series("fast", curve(fast, of))
    };
    [
        chart("loss", |moment| moment.objective),
        chart(METRICS[0], |moment| moment.metrics[0]),
        chart(METRICS[1], |moment| moment.metrics[1]),
    ]
}
