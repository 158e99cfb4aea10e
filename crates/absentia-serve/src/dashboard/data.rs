//! The data: long tail, activity, events over time.

use std::collections::BTreeMap;
use std::sync::Arc;

use absentia::error::Axis;
use absentia_report::format;
use absentia_report::html::{BarChart, Chart, ChartAxis, LineChart};

use super::html::{Html, Page, pairs};
use crate::clock::now_ms;
use crate::core::Core;
use crate::error::ApiError;

/// Events that the charts over time are made from.
const EVENTS: usize = 100_000;
/// Points of a curve.
const POINTS: usize = 80;
/// Days that are drawn.
const DAYS: i64 = 30;
const DAY: i64 = 86_400_000;

pub(super) async fn page(core: &Arc<Core>) -> Result<Page, ApiError> {
    let found = core.rankings.run(|worker| {
        let counts = {
            let live = worker.core.live();
            let state = live.read();
            let online = state.learner.online();
            [Axis::User, Axis::Item].map(|axis| online.counts(axis).to_vec())
        };
        Ok((counts, worker.store.newest_events(EVENTS)?))
    });
    let ([mut users, mut items], events) = found.await?;
    for counts in [&mut users, &mut items] {
        counts.sort_unstable_by(|a, b| b.cmp(a));
    }
    let page = Page::new(
        "Data",
        "How interactions are spread over items, users and time.",
    )
    .push(pairs("highlights", spread(&users, &items)))
    .push(Html::trusted(format!(
        "<div class=\"multiples\">{}{}</div>",
        curve(
            "The long tail: interactions per item",
            "rank of the item",
            &items
        ),
        curve(
            "Activity: interactions per user",
            "rank of the user",
            &users
        ),
    )))
    .section("Events");
    if events.is_empty() {
        let text = Html::text("No event was sent to the server yet.");
        return Ok(page.push(Html::of_class("p", "soft", &text)));
    }
    Ok(page.push(Html::trusted(format!(
        "<div class=\"multiples\">{}{}</div>",
        by_day(&events),
        by_kind(&events)
    ))))
}

fn spread(users: &[u32], items: &[u32]) -> Vec<(&'static str, String)> {
    let sum = |counts: &[u32]| counts.iter().map(|&count| u64::from(count)).sum::<u64>();
    let tenth = items.len().div_ceil(10);
    let share = sum(&items[..tenth]) as f64 / sum(items).max(1) as f64;
    let median = |counts: &[u32]| counts.get(counts.len() / 2).copied().unwrap_or(0);
    let cells = (users.len() * items.len()).max(1);
    vec![
        (
            "interactions with the top 10 % of items",
            format::percent(share),
        ),
        ("interactions per item (median)", median(items).to_string()),
        ("interactions per user (median)", median(users).to_string()),
        (
            "pairs observed",
            format::percent(sum(items) as f64 / cells as f64),
        ),
    ]
}

/// Sorted counts over their ranks, at ranks that are evenly spread on a logarithmic axis.
fn curve(title: &str, x: &str, counts: &[u32]) -> String {
    let ratio = (counts.len().max(2) as f64).ln() / (POINTS - 1) as f64;
    let mut ranks: Vec<usize> = (0..POINTS)
        .map(|at| (ratio * at as f64).exp().round() as usize)
        .filter(|&rank| (1..=counts.len()).contains(&rank))
        .collect();
    ranks.dedup();
    let points: Vec<(f64, f64)> = ranks
        .iter()
        .map(|&rank| (rank as f64, f64::from(counts[rank - 1])))
        .collect();
    let (x, y) = (ChartAxis::log(x), ChartAxis::log("interactions"));
    Chart::from(LineChart::new(title, x, y).series(title, &points)).small()
}

fn by_day(events: &[(i64, String)]) -> String {
    let today = now_ms() / DAY;
    let mut days: BTreeMap<i64, u64> = (1 - DAYS..=0).map(|day| (day, 0)).collect();
    for (received, _) in events {
        if let Some(count) = days.get_mut(&(received / DAY - today)) {
            *count += 1;
        }
    }
    let points: Vec<(f64, f64)> = days
        .iter()
        .map(|(&day, &count)| (day as f64, count as f64))
        .collect();
    let title = if events.len() == EVENTS {
        format!("Events a day, of the last {}", format::count(EVENTS as u64))
    } else {
        "Events a day".to_owned()
    };
    let (x, y) = (
        ChartAxis::whole("days from today"),
        ChartAxis::whole("events"),
    );
    Chart::from(LineChart::new(title, x, y).series("events", &points)).small()
}

fn by_kind(events: &[(i64, String)]) -> String {
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    for (_, kind) in events {
        *kinds.entry(kind).or_default() += 1;
    }
    let chart = BarChart::new("Events by kind");
    let chart = kinds.iter().fold(chart, |chart, (kind, &count)| {
        chart.bar(*kind, count as f64)
    });
    Chart::from(chart).small()
}
