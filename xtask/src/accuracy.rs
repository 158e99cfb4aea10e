//! What the figures of `docs/accuracy.md` were made by.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{cargo, repository, run};

pub(super) const HELP: &str = "\
cargo xtask accuracy <what>; data is read from ../shared/data

  study    on Amazon-book, MovieTweetings and KuaiRec: how far the order of settings on held-out rows
           agrees with their order on the test
  gowalla  chooses settings from the Gowalla training rows, trains with them, measures on the test
           and prints the published figures beside it; `gowalla chosen` leaves the search out and
           takes the settings that it chose (xtask/gowalla.toml)
";

/// Recall@20 and NDCG@20 on the split of NGCF and LightGCN, as published by the authors.
const PUBLISHED: [(&str, f64, f64); 5] = [
    ("LightGCN (SIGIR 2020)", 0.1820, 0.1547),
    ("UltraGCN (CIKM 2021)", 0.1862, 0.1580),
    ("SimpleX (CIKM 2021)", 0.1872, 0.1557),
    ("BSPM-EM (SIGIR 2023)", 0.1920, 0.1597),
    ("ChebyCF (SIGIR 2025)", 0.1941, 0.1616),
];

/// The search of the claim: a number of trials, so that it finds the same wherever it runs.
const SEARCH: [&str; 4] = ["--trials", "40", "--seed", "0"];

pub(super) fn accuracy(arguments: &[String]) -> Result<(), String> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["study"] => study(),
        ["gowalla"] => gowalla(true),
        ["gowalla", "chosen"] => gowalla(false),
        _ => Err(HELP.to_owned()),
    }
}

fn study() -> Result<(), String> {
    let program = build()?;
    let folder = folder()?;
    let kuairec = data("kuairec-signed")?;
    let liked = |names: &[&str], out: &str| -> Result<PathBuf, String> {
        let path = folder.join(out);
        run(program
            .command()
            .arg("convert")
            .args(names.iter().map(|name| kuairec.join(name)))
            .args(["--rating-col", "3", "--min-rating", "1", "--out"])
            .arg(&path))?;
        Ok(path)
    };
    let train = liked(&["train.tsv.gz", "valid.tsv.gz"], "kuairec-train.csv")?;
    let test = liked(&["test.tsv.gz"], "kuairec-test.csv")?;
    studied(
        &program,
        "KuaiRec",
        &train,
        &test,
        &["--rating-col", "none"],
    )?;
    let parts = folder.join("movietweetings");
    run(program
        .command()
        .arg("split")
        .arg(data("movietweetings-100k")?.join("ratings.tsv.gz"))
        .args(["--by", "leave-one-out", "--out"])
        .arg(&parts))?;
    let (train, test) = (parts.join("train.csv"), parts.join("test.csv"));
    studied(&program, "MovieTweetings", &train, &test, &[])?;
    let amazon = data("amazon-book-kgat")?;
    let (train, test) = (amazon.join("train.tsv.gz"), amazon.join("test.tsv.gz"));
    studied(&program, "Amazon-book", &train, &test, &[])
}

fn studied(
    program: &Program,
    name: &str,
    train: &Path,
    test: &Path,
    words: &[&str],
) -> Result<(), String> {
    eprintln!("\n{name}");
    run(program
        .command()
        .arg("tune")
        .arg(train)
        .arg("--study")
        .arg(test)
        .args([
            "--trials",
            "36",
            "--factors",
            "32",
            "--pick",
            "random",
            "--out",
        ])
        .arg(folder()?.join("study.toml"))
        .args(words))
}

fn gowalla(search: bool) -> Result<(), String> {
    let program = build()?;
    let folder = folder()?;
    let gowalla = data("gowalla-lightgcn")?;
    let (train, test) = (gowalla.join("train.tsv.gz"), gowalla.join("test.tsv.gz"));
    let settings = if search {
        let out = folder.join("gowalla.toml");
        run(program
            .command()
            .arg("tune")
            .arg(&train)
            .args(SEARCH)
            .arg("--out")
            .arg(&out))?;
        out
    } else {
        repository().join("xtask/gowalla.toml")
    };
    let model = folder.join("gowalla.absentia");
    let started = std::time::Instant::now();
    run(program
        .command()
        .arg("train")
        .arg(&train)
        .arg("--config")
        .arg(&settings)
        .arg("--model")
        .arg(&model))?;
    let seconds = started.elapsed().as_secs_f64();
    let (recall, ndcg) = measured(&program, &model, &train, &test)?;
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

/// Recall@20 and NDCG@20 of a model on a test.
fn measured(
    program: &Program,
    model: &Path,
    train: &Path,
    test: &Path,
) -> Result<(f64, f64), String> {
    let mut command = program.command();
    command
        .arg("evaluate")
        .arg(model)
        .arg("--train")
        .arg(train)
        .arg("--test")
        .arg(test)
        .args(["--at", "20", "--metrics", "recall,ndcg", "--json"]);
    eprintln!("xtask: {command:?}");
    let output = command.output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // The interval of a metric comes before its value, under the same name.
    let number = |key: &str| -> Option<f64> {
        let rest = text.rsplit_once(&format!("\"{key}\":"))?.1;
        rest.split([',', '}']).next()?.trim().parse().ok()
    };
    match (number("recall@20"), number("ndcg@20")) {
        (Some(recall), Some(ndcg)) => Ok((recall, ndcg)),
        _ => Err(format!(
            "no figures in: {text}{}",
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}

/// The program, built for speed.
struct Program(PathBuf);

impl Program {
    fn command(&self) -> Command {
        Command::new(&self.0)
    }
}

fn build() -> Result<Program, String> {
    run(&mut cargo(&["build", "--release"]))?;
    Ok(Program(super::target().join("release/absentia")))
}

fn folder() -> Result<PathBuf, String> {
    let folder = super::target().join("accuracy");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    Ok(folder)
}

fn data(name: &str) -> Result<PathBuf, String> {
    let folder = repository().join("../shared/data").join(name);
    if folder.is_dir() {
        Ok(folder)
    } else {
        Err(format!("{} is not there", folder.display()))
    }
}
