//! A section of the campaign: rounds of random cases, each of which can be repeated by its number.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use crate::dice::Dice;
use crate::room::Room;

/// How long each section goes on; a fixed number of rounds when not given.
const SECONDS: &str = "ABSENTIA_TORTURE_SECONDS";
const SEED: &str = "ABSENTIA_TORTURE_SEED";
/// The one round to make.
const ROUND: &str = "ABSENTIA_TORTURE_ROUND";
/// More failures than this are counted and not shown.
const SHOWN: usize = 10;

/// Makes the rounds of a section, and fails with all that went wrong in them.
///
/// # Panics
/// After the last round, if any has failed.
pub(crate) fn section(name: &str, rounds: u64, round: impl Fn(&mut Dice, &Room)) {
    let seed = number(SEED).unwrap_or(0);
    let (mut made, mut commands, mut failures) = (0, 0, Vec::new());
    let started = Instant::now();
    let limit = number(SECONDS).map(Duration::from_secs);
    let first = number(ROUND).unwrap_or(0);
    let goes_on = |at: u64| match (number(ROUND), limit) {
        (Some(only), _) => at == only,
        (None, Some(limit)) => at == 0 || started.elapsed() < limit,
        (None, None) => at < rounds,
    };
    for at in (first..).take_while(|&at| goes_on(at)) {
        let room = Room::new();
        let mut dice = Dice::new(seed, name, at);
        let outcome = catch_unwind(AssertUnwindSafe(|| round(&mut dice, &room)));
        made += 1;
        commands += room.commands();
        if let Err(reason) = outcome {
            let reason = reason
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| reason.downcast_ref::<&str>().copied());
            let report = report(name, seed, at, reason.unwrap_or("a panic"), room);
            eprintln!("{report}");
            failures.push(report);
        }
    }
    eprintln!(
        "torture {name}: seed {seed}, {made} rounds, {commands} commands, {} failures, {:.0} s",
        failures.len(),
        started.elapsed().as_secs_f64()
    );
    let shown = failures.len().min(SHOWN);
    assert!(
        failures.is_empty(),
        "{} of {made} rounds failed\n{}",
        failures.len(),
        failures[..shown].join("\n")
    );
}

/// What went wrong, the way to repeat it, and the commands that led to it.
fn report(section: &str, seed: u64, round: u64, reason: &str, room: Room) -> String {
    let (folder, lines) = room.keep();
    let last = &lines[lines.len().saturating_sub(12)..];
    format!(
        "FAILED {section}, round {round}: {reason}\n  repeat: cargo xtask torture --only {section} \
         --seed {seed} --round {round}\n  left in {}; the last commands there:\n    {}",
        folder.display(),
        last.join("\n    ")
    )
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    let number = text.parse();
    Some(number.unwrap_or_else(|_| panic!("{variable} is {text:?}; it must be a number")))
}
