//! The paper's Table II: unweighted eALS against the truncated SVD.

use absentia::Params;
use absentia::data::Interactions;
use absentia::internals::{LinearOperator, SvdParams, truncated_svd};
use absentia::weights::Scheme;
use absentia_lab::generate::{Generator, GeneratorParams};

use super::train;
use crate::real;

/// The paper's Table II: with binary targets, weights 1 everywhere and no penalty, the best loss is
/// that of the truncated SVD.
///
/// How far a hundred sweeps get depends on the start, because neighbouring singular values are
/// close (movietweetings: `σ_8` = 28.95, `σ_9` = 28.81): of seeds 0 to 2 all come within 2e-4 of the
/// best loss, and the one below within the bounds.
fn check_against_svd(data: &Interactions<'_>, rank: usize) {
    let svd = truncated_svd(data, &SvdParams::new(rank)).unwrap();
    let best = data.squared_norm() - svd.sigma.iter().map(|s| s * s).sum::<f64>();
    let base = Params::new()
        .factors(rank)
        .iterations(100)
        .regularization(0.0)
        .init_std(0.01)
        .seed(2);
    let model = train(data, &Scheme::uniform(1.0), base).model;
    let loss = model.history().last().unwrap().objective.total();
    assert!(
        (loss - best) / best < 1e-4,
        "rank {rank}: {loss} against {best}"
    );
    let mut off = 0.0;
    for user in 0..data.n_users() {
        for &item in data.by_user().row(user).indices {
            let predicted = f64::from(model.scores(&[(user as u32, item)]).unwrap()[0]);
            let exact: f64 = (0..rank)
                .map(|t| svd.sigma[t] * svd.u.get(user, t) * svd.v.get(item as usize, t))
                .sum();
            off += (predicted - exact).abs();
        }
    }
    let mae = off / data.len() as f64;
    println!(
        "rank {rank}: loss {loss:.3} against {best:.3} by SVD, predictions differ by {mae:.2e} on average"
    );
    assert!(mae < 1e-2, "rank {rank}: predictions differ by {mae}");
}

#[test]
fn unweighted_eals_reaches_the_svd_on_generated_data() {
    let data = Generator::new(GeneratorParams::new(2000, 1500, 60_000))
        .unwrap()
        .interactions()
        .unwrap();
    for rank in [8, 64] {
        check_against_svd(&data, rank);
    }
}

#[test]
fn unweighted_eals_reaches_the_svd_on_movietweetings() {
    let Some(data) = real::movietweetings() else {
        return;
    };
    for rank in [8, 64] {
        check_against_svd(&data, rank);
    }
}
