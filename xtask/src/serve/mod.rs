//! The server under load, beside `implicit` behind `FastAPI`: `cargo xtask bench serve`.
//!
//! | file | concept |
//! | --- | --- |
//! | `servers` | the two servers, and the requests that are sent to them |
//! | `client` | requests at a rate, whether or not earlier ones are answered, or one after the other |
//! | `phases` | what is measured |
//! | `findings` | figures beside their targets |
//!
//! Client and servers share the machine. Latencies at a rate count from the moment at which a request was
//! due, so that a server that falls behind cannot hide it.

mod client;
mod findings;
mod phases;
mod servers;

use std::path::PathBuf;

use crate::repository;
use findings::Findings;
use servers::{Bench, Running};

const USAGE: &str = "xtask: bench serve [--program FILE] [--quick] [--no-peer | --only-events]";

/// What is measured of our server.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    /// Everything, with or without the peer.
    All { with_peer: bool },
    /// Acknowledgements, and lists beside events.
    Events,
}

/// Measures a program, the release build if none is named by `--program`.
pub(crate) fn bench(words: &[String]) -> Result<(), String> {
    let (mut program, mut seconds, mut part) = (None, 8.0, Part::All { with_peer: true });
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--program" => program = Some(PathBuf::from(words.next().ok_or(USAGE)?)),
            "--quick" => seconds = 3.0,
            "--no-peer" => part = Part::All { with_peer: false },
            "--only-events" => part = Part::Events,
            _ => return Err(USAGE.to_owned()),
        }
    }
    let program = if let Some(program) = program {
        program.canonicalize().map_err(|error| error.to_string())?
    } else {
        crate::bench::build(&["absentia-cli"])?;
        crate::target().join("release/absentia")
    };
    let data = repository().join("../shared/data/gowalla-lightgcn/train.tsv.gz");
    if !data.is_file() {
        return Err(format!("xtask: {} is not there", data.display()));
    }
    let folder = crate::target().join("bench/serve");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let bench = Bench {
        program,
        folder,
        data: data.canonicalize().map_err(|error| error.to_string())?,
    };
    measured(&bench, seconds, part)
}

/// Our server as it starts without further settings, but that it saves no states, with shortlists of all users.
fn started(bench: &Bench) -> Result<Running, String> {
    bench.forget();
    let ours = bench.start("snapshot_events = 10000000")?;
    ours.wait_for_shortlists()?;
    Ok(ours)
}

fn measured(bench: &Bench, seconds: f64, part: Part) -> Result<(), String> {
    bench.train()?;
    bench.forget();
    let mut findings = Findings::default();
    if part == Part::Events {
        let ours = started(bench)?;
        phases::events(bench, &ours, seconds, &mut findings)?;
        drop(ours);
        bench.forget();
        eprint!("{findings}");
        return Ok(());
    }
    let peer = if part == (Part::All { with_peer: true }) {
        phases::peer(bench, seconds)
            .inspect_err(|why| eprintln!("implicit behind FastAPI is left out: {why}"))
            .ok()
    } else {
        None
    };
    let ranked = {
        let ours = bench.start("shortlist_mib = 0")?;
        phases::lists_of(
            &phases::RANKED,
            &ours,
            seconds,
            peer.as_ref(),
            &mut findings,
        )?
    };
    let ours = started(bench)?;
    phases::without_lists(&ours, seconds)?;
    phases::lists_of(
        &phases::LOOKED_UP,
        &ours,
        seconds,
        peer.as_ref(),
        &mut findings,
    )?;
    phases::events(bench, &ours, seconds, &mut findings)?;
    drop(ours);
    phases::replay(bench, &mut findings)?;
    phases::overload(bench, seconds, ranked, &mut findings)?;
    bench.forget();
    eprint!("{findings}");
    Ok(())
}
