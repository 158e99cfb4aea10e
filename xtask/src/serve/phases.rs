//! What is measured, one thing after the other.

use std::path::Path;
use std::time::{Duration, Instant};

use super::client::{Report, as_fast_as_possible, at_rate};
use super::findings::Findings;
use super::servers::{Bench, PEER_SETTINGS, Running, bare_sync, event, health, list, many_events};

const CONNECTIONS: usize = 64;
const EVENTS: usize = 100_000;
/// Events of one request while many are stored.
const MANY: usize = 5000;

fn show(what: &str, report: &Report) {
    eprintln!(
        "{what}: {:.0} a second, p50 {:.2} ms, p99 {:.2} ms, {} refused",
        report.rate(),
        report.quantile(0.5),
        report.quantile(0.99),
        report.refused
    );
}

/// What `implicit` behind `FastAPI` reaches at the settings and the number of connections that suit it best.
pub(super) fn peer(bench: &Bench, seconds: f64) -> Result<Report, String> {
    let mut best: Option<Report> = None;
    for (processes, place) in PEER_SETTINGS {
        let peer = bench.start_peer((processes, place))?;
        as_fast_as_possible(&peer.address, 2, 2.0, list)?;
        for connections in [1, 2, 4, 8, 16, 64] {
            let report = as_fast_as_possible(&peer.address, connections, seconds / 4.0, list)?;
            let what = format!(
                "implicit, {processes} processes, on the {place}, {connections} connections"
            );
            show(&what, &report);
            if best.as_ref().is_none_or(|best| report.rate() > best.rate()) {
                best = Some(report);
            }
        }
    }
    best.ok_or_else(|| "nothing was measured".to_owned())
}

/// Lists of one kind, and what is found about them.
pub(super) struct Lists {
    name: &'static str,
    /// What a capacity, a ratio to the peer one request after the other, and one at a rate are of.
    findings: [&'static str; 5],
}

/// Lists of users with a shortlist, as the server starts without further settings.
pub(super) const LOOKED_UP: Lists = Lists {
    name: "lists",
    findings: [
        "lists a second, 64 connections",
        "  the same beside implicit",
        "  at a rate beside implicit at its p99",
        "  p50 at 70 % of the capacity",
        "  p99 at 70 % of the capacity",
    ],
};

/// Lists of a server without shortlists: each is ranked.
pub(super) const RANKED: Lists = Lists {
    name: "lists that are ranked",
    findings: [
        "lists that are ranked a second, 64 connections",
        "  the same beside implicit",
        "  at a rate beside implicit at its p99",
        "  p50 at 70 % of the capacity",
        "  p99 at 70 % of the capacity",
    ],
};

/// What the connection loop and the client reach alone.
pub(super) fn without_lists(ours: &Running, seconds: f64) -> Result<(), String> {
    let alone = as_fast_as_possible(&ours.address, CONNECTIONS, seconds / 2.0, health)?;
    show("/healthz, as fast as possible", &alone);
    Ok(())
}

/// Lists as fast as possible, at the latency of the peer, and at 70 % of the capacity; yields the capacity.
pub(super) fn lists_of(
    lists: &Lists,
    ours: &Running,
    seconds: f64,
    peer: Option<&Report>,
    findings: &mut Findings,
) -> Result<f64, String> {
    let name = lists.name;
    let [of_capacity, of_ratio, of_rate, of_p50, of_p99] = lists.findings;
    as_fast_as_possible(&ours.address, CONNECTIONS, 3.0, list)?;
    let full = as_fast_as_possible(&ours.address, CONNECTIONS, seconds, list)?;
    show(&format!("{name}, as fast as possible"), &full);
    let capacity = full.rate();
    findings.add(
        of_capacity,
        format!("{capacity:.0}, p99 {:.2} ms", full.quantile(0.99)),
        "reaching for 5,000",
        capacity >= 5000.0,
    );
    if let Some(peer) = peer {
        // The peer is measured one request after the other, which hides when a server falls behind.
        let alike = capacity / peer.rate();
        let figure = format!(
            "{alike:.1}x (p99 {:.1} beside {:.1} ms)",
            full.quantile(0.99),
            peer.quantile(0.99)
        );
        findings.add(
            of_ratio,
            figure,
            "at least 20x",
            alike >= 20.0 && full.quantile(0.99) <= peer.quantile(0.99),
        );
        let reached = at_equal_latency(ours, lists, seconds, capacity, peer.quantile(0.99))?;
        let ratio = reached / peer.rate();
        let figure = format!(
            "{ratio:.1}x ({reached:.0} beside {:.0}, {:.0} ms)",
            peer.rate(),
            peer.quantile(0.99)
        );
        findings.add(of_rate, figure, "at least 20x", ratio >= 20.0);
    }
    let most = middle_of_three(|| {
        let most = at_rate(&ours.address, CONNECTIONS, 0.7 * capacity, seconds, list)?;
        show(&format!("{name} at 70 % of that"), &most);
        Ok(most)
    })?;
    let (p50, p99) = (most.quantile(0.5), most.quantile(0.99));
    findings.add(of_p50, format!("{p50:.2} ms"), "under 1 ms", p50 < 1.0);
    findings.add(of_p99, format!("{p99:.2} ms"), "under 5 ms", p99 < 5.0);
    Ok(capacity)
}

/// The largest rate at which requests are answered within a latency (99 %).
fn at_equal_latency(
    ours: &Running,
    lists: &Lists,
    seconds: f64,
    capacity: f64,
    latency: f64,
) -> Result<f64, String> {
    for share in [1.2, 1.1, 1.0, 0.95, 0.9, 0.8, 0.7, 0.5, 0.4, 0.3, 0.2] {
        let report = at_rate(
            &ours.address,
            CONNECTIONS,
            share * capacity,
            seconds / 2.0,
            list,
        )?;
        show(
            &format!("{} at {:.0} % of that", lists.name, 100.0 * share),
            &report,
        );
        if report.quantile(0.99) <= latency && report.refused == 0 {
            return Ok(report.rate());
        }
    }
    Ok(0.0)
}

/// How soon events are acknowledged, and lists beside them.
pub(super) fn events(
    bench: &Bench,
    ours: &Running,
    seconds: f64,
    findings: &mut Findings,
) -> Result<(), String> {
    acknowledgements(ours, seconds, &bench.folder, findings)?;
    beside_events(ours, seconds, findings)
}

/// How soon single events are acknowledged, in synchronisations of the disk.
fn acknowledgements(
    ours: &Running,
    seconds: f64,
    folder: &Path,
    findings: &mut Findings,
) -> Result<(), String> {
    let pause = Duration::from_millis(20);
    let before = bare_sync(folder, pause)?;
    let events = at_rate(&ours.address, 4, 50.0, seconds, event)?;
    show("single events, 50 a second", &events);
    let sync = f64::midpoint(before, bare_sync(folder, pause)?);
    let at_once = bare_sync(folder, Duration::ZERO)?;
    eprintln!(
        "  a bare fdatasync takes {sync:.2} ms at the same rate, {at_once:.2} ms without pauses (medians)"
    );
    let ratio = events.quantile(0.5) / sync;
    findings.add(
        "durable acknowledgement of an event (p50)",
        format!("{ratio:.2} ({:.2} ms)", events.quantile(0.5)),
        "at most 2.5 fdatasyncs",
        ratio <= 2.5,
    );
    Ok(())
}

/// Events a second beside which lists are measured.
const BESIDE: f64 = 500.0;

/// Lists while 500 events a second are learned: as fast as possible, and at 70 % of that. Each event changes an item, which
/// may enter any list, and a user, whose list is ranked until shortlists are made again.
fn beside_events(ours: &Running, seconds: f64, findings: &mut Findings) -> Result<(), String> {
    // Until about as many rows have changed as do later on.
    at_rate(&ours.address, 32, BESIDE, 8.0, event)?;
    let (full, _) = while_events_come(ours, seconds, || {
        as_fast_as_possible(&ours.address, CONNECTIONS, seconds, list)
    })?;
    show(
        "lists as fast as possible, beside 500 events a second",
        &full,
    );
    findings.add(
        "lists a second beside 500 events a second",
        format!("{:.0}, p99 {:.2} ms", full.rate(), full.quantile(0.99)),
        "reaching for 5,000",
        full.rate() >= 5000.0,
    );
    for share in [0.7, 0.6, 0.5, 0.4] {
        let rate = share * full.rate();
        let mut refused = 0;
        let lists = middle_of_three(|| {
            let (lists, events) = while_events_come(ours, seconds, || {
                at_rate(&ours.address, CONNECTIONS, rate, seconds, list)
            })?;
            show(
                &format!(
                    "lists at {:.0} % of that, beside 500 events a second",
                    100.0 * share
                ),
                &lists,
            );
            show("  those events", &events);
            refused += lists.refused + events.refused;
            Ok(lists)
        })?;
        let p99 = lists.quantile(0.99);
        let is_met = p99 < 10.0 && refused == 0;
        findings.add(
            "  p99 at a share of that",
            format!(
                "{p99:.2} ms ({:.0} %, {:.0} lists a second)",
                100.0 * share,
                lists.rate()
            ),
            "under 10 ms",
            is_met,
        );
        if is_met {
            break;
        }
    }
    Ok(())
}

/// Of three measurements the one with the middle latency (99 %): a pause of the machine spoils one of them at most.
fn middle_of_three(mut measure: impl FnMut() -> Result<Report, String>) -> Result<Report, String> {
    let mut reports = [measure()?, measure()?, measure()?];
    reports.sort_by(|a, b| a.quantile(0.99).total_cmp(&b.quantile(0.99)));
    let [_, middle, _] = reports;
    Ok(middle)
}

/// What is measured while events come, and how these are acknowledged.
fn while_events_come(
    ours: &Running,
    seconds: f64,
    measure: impl FnOnce() -> Result<Report, String>,
) -> Result<(Report, Report), String> {
    std::thread::scope(|scope| {
        let events = scope.spawn(|| at_rate(&ours.address, 32, BESIDE, seconds, event));
        let measured = measure()?;
        let panicked = || Err("a client panicked".to_owned());
        Ok((measured, events.join().unwrap_or_else(|_| panicked())?))
    })
}

/// Stores many events, ends the server as kill -9 does, and starts it again.
pub(super) fn replay(bench: &Bench, findings: &mut Findings) -> Result<(), String> {
    bench.forget();
    let ours = bench.start("snapshot_events = 10000000")?;
    let alone = ours.ready["seconds"].as_f64().unwrap_or(f64::NAN);
    let begun = Instant::now();
    let requests = (EVENTS / MANY) as f64;
    let make = |number| many_events(number, MANY);
    let sent = at_rate(&ours.address, 1, 1000.0, requests / 1000.0, make)?;
    eprintln!(
        "{} requests of {MANY} events: {:.0} events a second",
        sent.good,
        (sent.good * MANY) as f64 / begun.elapsed().as_secs_f64()
    );
    drop(ours);
    let again = bench.start("snapshot_events = 10000000")?;
    let seconds = again.ready["seconds"].as_f64().unwrap_or(f64::NAN);
    let replayed = again.ready["replayed"].as_u64().unwrap_or(0);
    eprintln!("started in {seconds:.2} s with {replayed} records to learn, {alone:.2} s without");
    findings.add(
        "start with 100,000 events to learn",
        format!("{seconds:.1} s ({replayed} records)"),
        "under 10 s",
        seconds < 10.0 && replayed == EVENTS as u64,
    );
    Ok(())
}

/// Ten times the load that a throttled ranking pool can bear, and what comes after it.
pub(super) fn overload(
    bench: &Bench,
    seconds: f64,
    capacity: f64,
    findings: &mut Findings,
) -> Result<(), String> {
    bench.forget();
    // The ranking threads alone could do several times what client, network and they do together on two
    // processors, so that a tenth of their time would not be a tenth of the capacity. Lists that are looked up do
    // not need them.
    let ours = bench.start("ranking_percent = 1\nshortlist_mib = 0")?;
    as_fast_as_possible(&ours.address, 4, 1.0, list)?;
    let throttled = as_fast_as_possible(&ours.address, CONNECTIONS, seconds / 2.0, list)?;
    show("ranking pool throttled to a tenth or less", &throttled);
    let before = ours.memory();
    let rate = (10.0 * throttled.rate()).min(capacity);
    let load = at_rate(&ours.address, 700, rate, seconds, list)?;
    let ended = Instant::now();
    show("  ten times that load", &load);
    let recovered = recovery(&ours, 0.5 * throttled.rate(), ended)?;
    let (Some((first, _)), Some((_, peak))) = (before, ours.memory()) else {
        return Err("the memory of the server is not known".to_owned());
    };
    findings.add(
        "overload: requests shed",
        format!(
            "{} of {} at {rate:.0} a second",
            load.refused,
            load.refused + load.good
        ),
        "shed early",
        load.refused > load.good && load.good > 0,
    );
    findings.add(
        "overload: memory before, and at its peak",
        format!("{first:.0} MiB, {peak:.0} MiB"),
        "bounded",
        peak < 1.25 * first + 64.0,
    );
    findings.add(
        "overload: all answered again after",
        format!("{recovered:.2} s"),
        "within 1 s",
        recovered <= 1.0,
    );
    Ok(())
}

/// Seconds after the load until no request is refused any more and all are answered quickly.
fn recovery(ours: &Running, rate: f64, ended: Instant) -> Result<f64, String> {
    let mut recovered = Duration::ZERO;
    while ended.elapsed() < Duration::from_secs(5) {
        let report = at_rate(&ours.address, 4, rate, 0.25, list)?;
        if report.refused > 0 || report.quantile(0.99) > 250.0 {
            recovered = ended.elapsed();
        } else if ended.elapsed() > recovered + Duration::from_secs(1) {
            break;
        }
    }
    Ok(recovered.as_secs_f64())
}
