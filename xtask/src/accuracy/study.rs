//! Whether held-out rows predict the test.

use super::sets::Set;
use super::{Program, folder, run};

/// The data sets, with how many settings of how many factors are studied.
const STUDIES: [(&str, &str, &str); 3] = [
    ("kuairec", "40", "48"),
    ("movietweetings", "40", "48"),
    ("amazon-book", "24", "96"),
];

pub(super) fn study() -> Result<(), String> {
    let program = Program::build()?;
    for (id, trials, factors) in STUDIES {
        let set = Set::named(id, &program)?;
        eprintln!("\n{}", set.source.name);
        let mut command = set.on_train(&program, "tune");
        command.arg("--study").arg(&set.test);
        command.args(["--trials", trials, "--factors", factors]);
        command.args(["--pick", "random", "--out"]);
        run(command.arg(folder("study")?.join("study.toml")))?;
    }
    Ok(())
}
