//! The command line of Absentia: a ratings file in, an evaluated model and recommendations out.

mod args;
mod cli;
mod config;
mod failure;
mod folding;
mod loading;
mod measure;
mod near;
mod store;
mod tables;
mod ui;
mod verbs;

fn main() -> std::process::ExitCode {
    cli::run(std::env::args_os().collect())
}
