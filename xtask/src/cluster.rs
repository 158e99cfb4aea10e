//! Runs on a Ray cluster of several nodes, all of them on this machine: `cargo xtask cluster`.

use crate::{cargo, python, repository, run};

/// Runs the tests that are too long for `cargo xtask test`: all settings on up to seven workers, and kills at random
/// moments. `words` choose tests as pytest's `-k` does.
pub(crate) fn test(words: &[String]) -> Result<(), String> {
    python::setup();
    let interpreter = python::interpreter()
        .filter(|python| python::has_modules(python, &["ray", "pytest", "scipy"]));
    let interpreter =
        interpreter.ok_or("Ray, pytest and scipy are needed and could not be installed")?;
    run(&mut cargo(&["build", "--workspace", "--all-features"]))?;
    let mut command = python::package(&interpreter, "debug")?;
    command.args([
        "-m",
        "pytest",
        "-q",
        "-rs",
        "-p",
        "no:cacheprovider",
        "cluster_tests",
    ]);
    if !words.is_empty() {
        command.args(["-k", &words.join(" ")]);
    }
    run(command.current_dir(repository().join("bindings/python")))
}

/// Measures sweeps on two workers, with Spark beside them: `cargo xtask bench cluster`; with `scale` or `cost` as the first word,
/// large data from files to model, or the constants of the cost model.
pub(crate) fn bench(words: &[String]) -> Result<(), String> {
    python::setup();
    let interpreter =
        python::interpreter().filter(|python| python::has_modules(python, &["ray", "pyarrow"]));
    let interpreter = interpreter.ok_or("Ray and pyarrow are needed and could not be installed")?;
    crate::bench::build(&["absentia-python", "absentia-cli"])?;
    let (script, words) = match words.first().map(String::as_str) {
        Some("scale") => ("cluster_scale.py", &words[1..]),
        Some("cost") => ("cluster_cost.py", &words[1..]),
        _ => ("cluster_speed.py", words),
    };
    let mut command = python::package(&interpreter, "release")?;
    command
        .arg(repository().join("xtask/python").join(script))
        .args(words);
    if script == "cluster_speed.py" && !words.iter().any(|word| word.starts_with("--spark")) {
        match crate::bench::environment("pyspark", &["pyspark", "numpy"]) {
            Ok(spark) => _ = command.arg("--spark").arg(spark),
            Err(why) => {
                eprintln!("xtask: Spark is left out, it could not be installed: {why}");
            }
        }
    }
    run(&mut command)
}
