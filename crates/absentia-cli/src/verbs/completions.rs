//! `completions`: what a shell needs to complete commands and flags.

use std::io::Write;

use clap::CommandFactory;

use crate::cli::{Cli, Context};
use crate::failure::Outcome;
use crate::guard::Files;

const EXAMPLES: &str = "\
Examples:
  $ absentia completions bash > absentia.bash
  $ absentia completions zsh > _absentia";

/// Print completions for a shell.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Completions {
    /// The shell.
    shell: clap_complete::Shell,
}

impl Completions {
    /// Every file that the command reads or writes.
    #[allow(clippy::unused_self, reason = "other commands have some")]
    pub(crate) fn files(&self) -> Files {
        Files::default()
    }

    pub(crate) fn run(&self, _: &Context) -> anyhow::Result<Outcome> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "absentia", &mut script);
        std::io::stdout().write_all(&script)?;
        Ok(Outcome::Done)
    }
}
