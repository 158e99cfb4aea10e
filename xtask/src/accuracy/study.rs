//! Whether held-out rows predict the test.

use super::sets::Set;
use super::{Program, folder, run};

/// What the study is made with.
const WORDS: [&str; 7] = [
    "--trials",
    "36",
    "--factors",
    "32",
    "--pick",
    "random",
    "--out",
];

pub(super) fn study() -> Result<(), String> {
    let program = Program::build()?;
    for id in ["kuairec", "movietweetings", "amazon-book"] {
        let set = Set::named(id, &program)?;
        eprintln!("\n{}", set.source.name);
        let mut command = set.on_train(&program, "tune");
        command.arg("--study").arg(&set.test).args(WORDS);
        run(command.arg(folder("study")?.join("study.toml")))?;
    }
    Ok(())
}
