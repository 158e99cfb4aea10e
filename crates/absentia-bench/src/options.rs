//! What to measure: the arguments of `cargo xtask bench`.

use std::path::PathBuf;

use clap::Parser;

/// Parts of the benchmark.
pub(crate) const SECTIONS: [&str; 5] = ["yelp", "amazon", "weights", "ranking", "quality"];

/// Sizes of generated data that `--big` measures.
const BIG: [u64; 4] = [1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

/// What to measure, and how.
#[derive(Clone, Debug, PartialEq, Eq, Parser)]
#[command(name = "cargo xtask bench", no_binary_name = true)]
pub(crate) struct Options {
    /// Parts to run.
    #[arg(long, value_delimiter = ',', value_parser = SECTIONS)]
    pub(crate) only: Vec<String>,
    /// Latent dimensions of the generated shapes; each shape's own when not given.
    #[arg(long, value_delimiter = ',', value_parser = positive)]
    pub(crate) factors: Vec<usize>,
    /// Times every contender has its turn.
    #[arg(long, default_value = "3", value_parser = positive)]
    #[arg(default_value_if("quick", "true", "1"))]
    pub(crate) rounds: usize,
    /// Iterations of a turn.
    #[arg(long, default_value = "4", value_parser = positive)]
    #[arg(default_value_if("quick", "true", "2"))]
    pub(crate) iterations: usize,
    /// Threads of every contender.
    #[arg(long, default_value = "2", value_parser = positive)]
    pub(crate) threads: usize,
    /// Fewer rounds and iterations: a first look, not a result.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Measure the library alone.
    #[arg(long)]
    pub(crate) no_peers: bool,
    /// Where data and results go.
    #[arg(long, default_value = "target/bench")]
    pub(crate) out: PathBuf,
    /// Folder with a Python environment for each peer.
    #[arg(long, default_value = "target/bench-python")]
    pub(crate) python: PathBuf,
    /// Folder of the Gowalla split.
    #[arg(long, default_value = "../shared/data/gowalla-lightgcn")]
    pub(crate) gowalla: PathBuf,
    /// Build and sweep generated data of several sizes, and measure nothing else.
    #[arg(long)]
    pub(crate) big: bool,
    /// Sizes for --big, in entries.
    #[arg(long, value_delimiter = ',', value_parser = positive, requires = "big")]
    entries: Vec<usize>,
}

impl Options {
    /// Sizes of generated data to build and sweep.
    pub(crate) fn sizes(&self) -> Vec<u64> {
        match &self.entries[..] {
            [] => BIG.to_vec(),
            given => given.iter().map(|&entries| entries as u64).collect(),
        }
    }

    /// Whether a part is to run.
    pub(crate) fn wants(&self, section: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == section)
    }

    /// Latent dimensions to measure a shape with.
    pub(crate) fn factors_of(&self, shape: &str) -> Vec<usize> {
        match (self.factors.is_empty(), shape) {
            (false, _) => self.factors.clone(),
            (true, "yelp") => vec![32, 64, 128, 256],
            (true, _) => vec![64, 128, 256],
        }
    }
}

/// A whole number above 0, perhaps with underscores between its digits.
fn positive(text: &str) -> Result<usize, String> {
    let number = text.replace('_', "").parse().ok();
    number
        .filter(|&number| number > 0)
        .ok_or_else(|| "expected a whole number above 0".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, clap::Error> {
        Options::try_parse_from(line.split_whitespace())
    }

    #[test]
    fn options_say_what_runs() {
        let all = parse("").unwrap();
        assert!(SECTIONS.iter().all(|section| all.wants(section)));
        assert_eq!(all.factors_of("yelp"), [32, 64, 128, 256]);
        let some = parse("--only yelp,quality --factors 64 --quick --no-peers").unwrap();
        assert!(some.wants("quality") && !some.wants("amazon"));
        assert_eq!((some.factors_of("yelp"), some.rounds), (vec![64], 1));
        assert_eq!((some.iterations, some.no_peers), (2, true));
        assert_eq!(parse("--quick --rounds 5").unwrap().rounds, 5);
        assert_eq!(parse("--big").unwrap().sizes().len(), 4);
        let sizes = parse("--big --entries 1_000,20").unwrap().sizes();
        assert_eq!(sizes, [1000, 20]);
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        for (line, named) in [
            ("--only yelp,moon", "moon"),
            ("--rounds 0", "0"),
            ("--factors 6x", "6x"),
            ("--threads", "--threads"),
            ("--entries 5", "--big"),
            ("--fast", "--fast"),
        ] {
            let error = parse(line).unwrap_err().to_string();
            assert!(error.contains(named), "{line}: {error}");
        }
    }
}
