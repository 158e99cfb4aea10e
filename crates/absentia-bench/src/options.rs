//! What to measure: the arguments of `cargo xtask bench`.

use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};

/// Parts of the benchmark.
pub(crate) const SECTIONS: [&str; 5] = ["yelp", "amazon", "weights", "ranking", "quality"];

/// Sizes of generated data that `--big` measures.
const BIG: [u64; 4] = [1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

/// What to measure, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// Parts to run.
    pub(crate) only: Vec<String>,
    /// Latent dimensions of the generated shapes; each shape's own when empty.
    pub(crate) factors: Vec<usize>,
    /// Times every contender has its turn.
    pub(crate) rounds: usize,
    /// Iterations of a turn.
    pub(crate) iterations: usize,
    pub(crate) threads: usize,
    /// Fewer rounds and iterations: a first look, not a result.
    pub(crate) quick: bool,
    pub(crate) with_peers: bool,
    /// Where data and results go.
    pub(crate) out: PathBuf,
    /// Folder with a Python environment for each peer.
    pub(crate) python: PathBuf,
    /// Folder of the Gowalla split.
    pub(crate) gowalla: PathBuf,
    /// Sizes of generated data to build and sweep; the other parts are left out then.
    pub(crate) big: Vec<u64>,
}

impl Options {
    /// Reads the arguments.
    ///
    /// # Errors
    /// Names the argument that is wrong.
    pub(crate) fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Self> {
        let mut options = Self {
            only: Vec::new(),
            factors: Vec::new(),
            rounds: 3,
            iterations: 4,
            threads: 2,
            quick: false,
            with_peers: true,
            out: "target/bench".into(),
            python: "target/bench-python".into(),
            gowalla: "../shared/data/gowalla-lightgcn".into(),
            big: Vec::new(),
        };
        let mut arguments = arguments.into_iter();
        let mut entries = Vec::new();
        while let Some(name) = arguments.next() {
            let mut value = || {
                arguments
                    .next()
                    .with_context(|| format!("{name} needs a value"))
            };
            match name.as_str() {
                "--quick" => (options.quick, options.rounds, options.iterations) = (true, 1, 2),
                "--no-peers" => options.with_peers = false,
                "--big" => options.big = BIG.to_vec(),
                "--only" => options.only = list(&value()?)?,
                "--factors" => options.factors = list(&value()?)?,
                "--entries" => entries = list(&value()?)?,
                "--rounds" => options.rounds = positive(&value()?)?,
                "--iterations" => options.iterations = positive(&value()?)?,
                "--threads" => options.threads = positive(&value()?)?,
                "--out" => options.out = value()?.into(),
                "--python" => options.python = value()?.into(),
                "--gowalla" => options.gowalla = value()?.into(),
                _ => bail!("{name:?} is not an option of the benchmark"),
            }
        }
        if !entries.is_empty() {
            ensure!(!options.big.is_empty(), "--entries goes with --big");
            options.big = entries;
        }
        if let Some(section) = options
            .only
            .iter()
            .find(|name| !SECTIONS.contains(&name.as_str()))
        {
            bail!("--only {section}: the parts are {}", SECTIONS.join(", "));
        }
        Ok(options)
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

fn list<T: std::str::FromStr>(text: &str) -> Result<Vec<T>> {
    let part = |part: &str| {
        let number = part.trim().replace('_', "").parse();
        number.map_err(|_| anyhow::anyhow!("{part:?} cannot be read"))
    };
    text.split(',').map(part).collect()
}

fn positive(text: &str) -> Result<usize> {
    let number: usize = text
        .parse()
        .with_context(|| format!("{text:?} is not a whole number"))?;
    ensure!(number > 0, "0 is not allowed here");
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options> {
        Options::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn options_say_what_runs() {
        let all = parse("").unwrap();
        assert!(SECTIONS.iter().all(|section| all.wants(section)));
        assert_eq!(all.factors_of("yelp"), [32, 64, 128, 256]);
        let some = parse("--only yelp,quality --factors 64 --quick --no-peers").unwrap();
        assert!(some.wants("quality") && !some.wants("amazon"));
        assert_eq!((some.factors_of("yelp"), some.rounds), (vec![64], 1));
        assert_eq!(parse("--big").unwrap().big.len(), 4);
        assert_eq!(parse("--big --entries 1_000,20").unwrap().big, [1000, 20]);
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
