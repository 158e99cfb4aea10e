//! The figure of the Gowalla leaderboard.

use super::measure::measured;
use super::sets::Set;
use super::{Program, folder, run};
use crate::repository;

/// Recall@20 and NDCG@20 on the split of NGCF and LightGCN, as published by the authors.
const PUBLISHED: [(&str, f64, f64); 5] = [
    ("LightGCN (SIGIR 2020)", 0.1820, 0.1547),
    ("UltraGCN (CIKM 2021)", 0.1862, 0.1580),
    ("SimpleX (CIKM 2021)", 0.1872, 0.1557),
    ("BSPM-EM (SIGIR 2023)", 0.1920, 0.1597),
    ("ChebyCF (SIGIR 2025)", 0.1941, 0.1616),
];

/// The search of the claim: what `absentia tune` does by default. How far it gets in that time
/// depends on the machine; what it chose for the figure in the docs is kept in `xtask/gowalla.toml`.
const SEARCH: [&str; 2] = ["--budget", "10m"];

pub(super) fn gowalla(search: bool) -> Result<(), String> {
    let program = Program::build()?;
    let set = Set::named("gowalla", &program)?;
    let folder = folder("gowalla")?;
    let settings = if search {
        let out = folder.join("gowalla.toml");
        let mut tune = set.on_train(&program, "tune");
        run(tune.args(SEARCH).arg("--out").arg(&out))?;
        out
    } else {
        repository().join("xtask/gowalla.toml")
    };
    let model = folder.join("gowalla.absentia");
    let started = std::time::Instant::now();
    let mut train = set.on_train(&program, "train");
    train.arg("--config").arg(&settings);
    run(train.arg("--model").arg(&model))?;
    let seconds = started.elapsed().as_secs_f64();
    let figures = measured(set.evaluate(&program, &model))?;
    let (recall, ndcg) = (figures.recall.value, figures.ndcg.value);
    eprintln!("\nGowalla, split of LightGCN, all unseen items ranked: recall@20, ndcg@20");
    for (name, recall, ndcg) in PUBLISHED {
        eprintln!("  {name:<24} {recall:.4}  {ndcg:.4}  (published)");
    }
    eprintln!(
        "  {:<24} {recall:.4}  {ndcg:.4}  ({seconds:.0} s to read and train)",
        "Absentia"
    );
    eprintln!("Settings: {}", settings.display());
    Ok(())
}
