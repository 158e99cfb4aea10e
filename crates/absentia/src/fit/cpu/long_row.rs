//! A user with very many entries keeps every thread busy, not one.

use super::tests::{backend_of, problem_of};
use super::*;
use crate::data::{Duplicates, Interactions, Triplets};
use crate::params::Params;
use crate::weights::Scheme;

/// Nanoseconds that the calling thread has been on a processor, where the system tells.
fn time_on_processor() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

fn data() -> Interactions<'static> {
    let (users, items): (Vec<u32>, Vec<u32>) = (0..200_000).map(|item| (0, item)).unzip();
    let triplets = Triplets::new(&users, &items);
    triplets.build(1, 200_000, Duplicates::Error).unwrap()
}

/// Processor time of each of two threads while the users are solved.
fn shares(data: &Interactions<'_>, solver: Solver) -> Option<Vec<u64>> {
    let params = Params::new().factors(32).solver(solver).check().unwrap();
    let scheme = Scheme::uniform(1e-4);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(2)
        .build()
        .unwrap();
    let problem = problem_of(data, &scheme, &params).unwrap();
    let mut backend = pool.install(|| backend_of(&problem));
    let read = || -> Option<Vec<u64>> {
        pool.broadcast(|_| time_on_processor())
            .into_iter()
            .collect()
    };
    let before = read()?;
    pool.install(|| {
        for _ in 0..20 {
            backend
                .half_sweep(Axis::User, false, &Cancel::new())
                .unwrap();
        }
    });
    let after = read()?;
    Some(after.iter().zip(before).map(|(a, b)| a - b).collect())
}

#[test]
fn the_entries_of_one_long_row_are_shared_out() {
    let data = data();
    for solver in [
        Solver::Eals,
        Solver::Subspace { block: 16 },
        Solver::Als,
        Solver::AlsCg { steps: 3 },
    ] {
        let mut seen: Vec<Vec<u64>> = Vec::new();
        // Other tests want the processors too, and a thread that does not get one cannot help.
        while !seen.iter().any(|shares| is_shared(shares)) && seen.len() < 8 {
            let Some(shares) = shares(&data, solver) else {
                absentia_testing::skipped(
                    "the system does not report a thread's time on the processor",
                );
                return;
            };
            seen.push(shares);
        }
        assert!(
            seen.iter().any(|shares| is_shared(shares)),
            "{solver:?}: the two threads worked {seen:?} ns"
        );
    }
}

/// One row: whoever has it would do all the work if it were not shared, but for a few thousandths.
fn is_shared(shares: &[u64]) -> bool {
    let (least, all) = (shares.iter().min(), shares.iter().sum::<u64>());
    least.is_some_and(|least| 20 * least >= all)
}
