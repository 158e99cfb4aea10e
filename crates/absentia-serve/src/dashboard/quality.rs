//! How well events are predicted before they are learned, and cache drift.

use std::sync::Arc;

use absentia_online::Prequential;
use absentia_report::format;
use absentia_report::html::{Chart, ChartAxis, LineChart};

use super::html::{Column, Html, Page, pairs, table};
use crate::core::Core;
use crate::quality::{CUTOFF, Means, Ranks, Summary};

/// Points of a curve at most.
const POINTS: usize = 40;
/// Events of one point at least.
const LEAST: usize = 20;

pub(super) fn page(core: &Arc<Core>) -> Page {
    let (quality, latest) = (core.quality.summary(), core.quality.latest());
    let percent = core.settings.limits.quality_percent;
    let page = Page::new(
        "Quality",
        "Before an event is learned, its item is looked for in the lists that its user would get.",
    )
    .again_after(30);
    if percent == 0 {
        let text = "Nothing is measured: quality_percent is 0 in the settings.";
        return page.push(Html::of_class("p", "warning", &Html::text(text)));
    }
    if quality.live.events == 0 {
        return page
            .push(Html::of_class(
                "p",
                "soft",
                &Html::text(&nothing_measured(&quality)),
            ))
            .section("Caches")
            .push(caches(&quality));
    }
    page.push(pairs("highlights", highlights(&quality)))
        .push(compared(&quality))
        .push(curves(&latest))
        .push(Html::of_class(
            "p",
            "soft",
            &Html::text(&explained(&quality)),
        ))
        .section("Caches")
        .push(caches(&quality))
}

/// Why there are no figures yet. Measuring starts again with each start and each activation.
fn nothing_measured(quality: &Summary) -> String {
    let since = format!(
        "since measuring began with version {} at record {}",
        quality.model,
        format::count(quality.since)
    );
    match quality.events {
        0 => format!("No event came {since}. Send events to /v1/events, and come back."),
        events => format!(
            "None of the {} interactions that came {since} was measured: a sample of them is.",
            format::count(events)
        ),
    }
}

fn highlights(quality: &Summary) -> Vec<(&'static str, String)> {
    vec![
        (
            "found by the live model",
            format::percent(quality.live.hit_rate),
        ),
        (
            "by the model as trained",
            format::percent(quality.trained.hit_rate),
        ),
        (
            "by recent popularity",
            format::percent(quality.popular.hit_rate),
        ),
        (
            "events measured",
            format!(
                "{} of {}",
                format::count(quality.live.events),
                format::count(quality.events)
            ),
        ),
    ]
}

fn compared(quality: &Summary) -> Html {
    let number = |value: f64| Html::text(&format::significant(value, 3));
    let row = |name: &str, measured: &Means| {
        vec![
            Html::text(name),
            number(measured.hit_rate),
            number(measured.ndcg),
            number(measured.mrr),
        ]
    };
    let rows = [
        row(
            &format!("live model (version {})", quality.model),
            &quality.live,
        ),
        row(
            &format!(
                "as trained, up to record {}",
                format::count(quality.trained_up_to)
            ),
            &quality.trained,
        ),
        row("recent popularity", &quality.popular),
    ];
    let columns = [
        Column::Text("predicted by"),
        Column::Number("hit rate @20"),
        Column::Number("NDCG @20"),
        Column::Number("MRR"),
    ];
    table(&columns, &rows, "")
}

/// Hit rate and NDCG of groups of events, oldest first.
fn curves(latest: &[Ranks]) -> Html {
    let size = latest.len().div_ceil(POINTS).max(LEAST);
    let groups: Vec<&[Ranks]> = latest
        .chunks(size)
        .filter(|group| group.len() >= LEAST)
        .collect();
    if groups.len() < 2 {
        let text = format!("Curves appear after {} measured events.", 2 * LEAST);
        return Html::of_class("p", "soft", &Html::text(&text));
    }
    let measured = |rank: fn(&Ranks) -> Option<u32>, value: fn(&Means) -> f64| {
        let mut points = Vec::with_capacity(groups.len());
        let mut events = 0;
        for group in &groups {
            let mut sums = Prequential::new(CUTOFF);
            group.iter().for_each(|ranks| sums.add(rank(ranks)));
            events += group.len();
            points.push((events as f64, value(&sums.means().into())));
        }
        points
    };
    let chart = |title: String, name: &str, value: fn(&Means) -> f64| {
        let (x, y) = (ChartAxis::whole("measured events"), ChartAxis::linear(name));
        let chart = LineChart::new(title, x, y)
            .series("live", &measured(|ranks| ranks.live, value))
            .series("as trained", &measured(|ranks| ranks.trained, value))
            .series("popular", &measured(|ranks| ranks.popular, value));
        Chart::from(chart).small()
    };
    let hits = chart(format!("Hit rate, groups of {size}"), "hit rate @20", |m| {
        m.hit_rate
    });
    let gains = chart(format!("NDCG, groups of {size}"), "NDCG @20", |m| m.ndcg);
    Html::trusted(format!("<div class=\"multiples\">{hits}{gains}</div>"))
}

fn explained(quality: &Summary) -> String {
    format!(
        "Since record {}: {} interactions, of which a sample is measured. All items are ranked, also those \
         that the user has taken. An event of a user that a model does not know is not found by it. Recent \
         popularity counts the last 10,000 events, and all interactions where these are equal.",
        format::count(quality.since),
        format::count(quality.events)
    )
}

fn caches(quality: &Summary) -> Html {
    let Some(drift) = quality.drift else {
        let text = "The caches are compared with recomputed sums after the first events.";
        return Html::of_class("p", "soft", &Html::text(text));
    };
    pairs(
        "facts",
        [
            (
                "cache drift",
                // A hyphen at which no line ends.
                format!("{:.1e}", drift.relative).replace('-', "\u{2011}"),
            ),
            ("compared at record", format::count(drift.sequence)),
        ],
    )
    .and(&Html::of_class(
        "p",
        "soft",
        &Html::text(
            "The drift is the largest difference between the caches, which follow every event, and \
             recomputed sums, relative to the largest sum.",
        ),
    ))
}
