//! Random problems over the whole space of settings, against an oracle that visits every entry in `f64`.
//!
//! What is reported is the objective of the model that was saved; it never rises; and where the problem
//! is not extreme it is that of the oracle's own sweeps. An extreme problem may be refused instead.

mod oracle;
mod problem;

use oracle::Factors;
use problem::Problem;

use crate::dice::Dice;
use crate::room::Room;

/// Problems in a round.
const PROBLEMS: usize = 6;

pub(crate) fn round(dice: &mut Dice, room: &Room) {
    for _ in 0..PROBLEMS {
        let problem = Problem::random(dice);
        problem.write(room);
        check(&problem, room);
    }
}

fn check(problem: &Problem, room: &Room) {
    let line = problem.line();
    let ended = room.run(&line);
    if !ended.is_ok() {
        assert!(problem.is_extreme, "refused: {ended}");
        return;
    }
    let (oracle, start) = (&problem.oracle, &problem.start);
    let reported: Vec<f64> = ended
        .stdout
        .lines()
        .filter_map(|line| {
            let line: serde_json::Value = serde_json::from_str(line).ok()?;
            line["iteration"].as_u64()?;
            Some(line["objective"].as_f64().unwrap_or(f64::NAN))
        })
        .collect();
    let last = *reported.last().expect("a sweep");
    let saved = saved_factors(room);
    let (exact, size) = (oracle.objective(&saved), oracle.size(&saved));
    let is_near = |x: f64, y: f64| (x - y).abs() <= 1e-3 * y.abs() + 1e-5 * size;
    assert!(
        is_near(last, exact),
        "{line}\nreports J = {last:e}; that of the saved factors is {exact:e}"
    );
    let mut before = oracle.objective(start);
    for (sweep, &after) in reported.iter().enumerate() {
        let limit = before * (1.0 + 1e-4) + 1e-5 * oracle.at_zero();
        let sweep = sweep + 1;
        assert!(
            after <= limit,
            "{line}\nJ rose from {before:e} to {after:e} in sweep {sweep}"
        );
        before = after;
    }
    if let Some(block) = problem.block.filter(|_| !problem.is_extreme) {
        let mut own = start.clone();
        for _ in 0..reported.len() {
            oracle.sweep(&mut own, block);
        }
        let own = oracle.objective(&own);
        let is_near = (last - own).abs() <= 0.01 * own + 1e-4 * oracle.at_zero();
        assert!(
            is_near,
            "{line}\nends at J = {last:e}, the oracle at {own:e}"
        );
    }
}

fn saved_factors(room: &Room) -> Factors {
    let model = absentia_io::model::load_model(&room.path("m.absentia"))
        .expect("a model")
        .model;
    let rows = |factors: &absentia::model::Factors| -> Vec<f64> {
        let rows = (0..factors.rows()).flat_map(|row| factors.row(row).to_vec());
        rows.map(f64::from).collect()
    };
    Factors {
        p: rows(model.user_factors()),
        q: rows(model.item_factors()),
    }
}
