//! The program `absentia`.

fn main() -> std::process::ExitCode {
    absentia::return_freed_memory();
    absentia_cli::run(std::env::args_os().collect()).into()
}
