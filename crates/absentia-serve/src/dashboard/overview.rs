//! How the server is: sizes, requests, latencies, errors, lag.

use std::sync::Arc;
use std::time::Duration;

use absentia::error::Axis;
use absentia_report::format;
use absentia_report::html::{Chart, ChartAxis, LineChart};

use super::html::{Column, Html, Page, pairs, table};
use crate::api::ROUTES;
use crate::clock::now_ms;
use crate::core::{Core, Storage};
use crate::error::ApiError;
use crate::metrics::{Metrics, Minute};

/// Minutes that are drawn.
const MINUTES: i64 = 60;

pub(super) async fn page(core: &Arc<Core>) -> Result<Page, ApiError> {
    let sizes = core.rankings.run(|worker| {
        let live = worker.core.live();
        let state = live.read();
        let online = state.learner.online();
        Ok((
            online.n_rows(Axis::User),
            online.n_rows(Axis::Item),
            online.n_entries(),
            live.version,
        ))
    });
    let (users, items, entries, version) = sizes.await?;
    let count = |number: usize| format::count(number as u64);
    let (metrics, status) = (&core.metrics, &core.status);
    let statuses = metrics.statuses();
    let requests: u64 = statuses.iter().map(|(_, count)| count).sum();
    let errors = statuses.iter().filter(|(status, _)| *status >= 500);
    let errors: u64 = errors.map(|(_, count)| count).sum();
    let lag = status
        .last_committed()
        .saturating_sub(status.last_learned());
    let up = format::duration(Duration::from_secs_f64(status.uptime()));
    let lead = format!(
        "Model {version} is active. The server has run for {up}; requests are counted since its start."
    );
    let storage = match status.storage() {
        Storage::Writable => "writable",
        Storage::Full => "full: events are refused",
        Storage::Failed => "failed: restart the server",
    };
    let (snapshots, snapshot_error) = status.snapshots();
    let mut page = Page::new("Overview", &lead).again_after(30);
    if status.storage() != Storage::Writable {
        let text = Html::text(&format!("The storage is {storage}."));
        page = page.push(Html::of_class("p", "warning", &text));
    }
    if let Some(error) = snapshot_error {
        let text = Html::text(&format!("The last state was not saved: {error}"));
        page = page.push(Html::of_class("p", "warning", &text));
    }
    Ok(page
        .push(pairs(
            "highlights",
            [
                ("users", count(users)),
                ("items", count(items)),
                ("interactions", format::count(entries)),
                ("events learned", format::count(metrics.events())),
                ("requests", format::count(requests)),
                ("server errors", format::count(errors)),
                ("half answered within", latency(metrics, None, 0.5)),
                ("99 % within", latency(metrics, None, 0.99)),
            ],
        ))
        .push(charts(&metrics.minutes()))
        .section("Requests")
        .push(routes(metrics))
        .section("Storage and queues")
        .push(pairs(
            "facts",
            [
                ("storage", storage.to_owned()),
                ("last record stored", format::count(status.last_committed())),
                ("last record learned", format::count(status.last_learned())),
                ("log lag", format::counted(lag, "record")),
                ("lists waiting", count(core.rankings.waiting())),
                ("writes waiting", count(core.writes.len())),
                ("states saved", format::count(snapshots)),
            ],
        ))
        .section("Answers by status")
        .push(by_status(&statuses)))
}

fn latency(metrics: &Metrics, route: Option<usize>, share: f64) -> String {
    match metrics.quantile(route, share) {
        None => "–".to_owned(),
        Some(seconds) => format!("{} ms", format::significant(seconds * 1e3, 3)),
    }
}

fn charts(minutes: &[Minute]) -> Html {
    let now = now_ms() / 60_000;
    let points = |value: fn(&Minute) -> u64| -> Vec<(f64, f64)> {
        let drawn = (1 - MINUTES..=0).map(|at| {
            let minute = minutes.iter().find(|minute| minute.minute == now + at);
            (at as f64, minute.map_or(0, value) as f64)
        });
        drawn.collect()
    };
    let chart = |title: &str| {
        let x = ChartAxis::whole("minutes from now");
        LineChart::new(title, x, ChartAxis::whole("a minute"))
    };
    let requests = chart("Requests")
        .series("all", &points(|minute| minute.requests))
        .series("server errors", &points(|minute| minute.errors));
    let events = chart("Events learned").series("events", &points(|minute| minute.events));
    let figures = [requests, events].map(|chart| Chart::from(chart).small());
    Html::trusted(format!(
        "<div class=\"multiples\">{}</div>",
        figures.concat()
    ))
}

fn routes(metrics: &Metrics) -> Html {
    let used = ROUTES.iter().enumerate();
    let used = used.filter(|&(at, _)| metrics.answers(at) > 0);
    let rows: Vec<Vec<Html>> = used
        .map(|(at, route)| {
            let within = |share: f64| Html::text(&latency(metrics, Some(at), share));
            vec![
                Html::tag(
                    "code",
                    &Html::text(&format!("{} {}", route.method, route.path)),
                ),
                Html::text(&format::count(metrics.answers(at))),
                within(0.5),
                within(0.95),
                within(0.99),
            ]
        })
        .collect();
    let columns = [
        Column::Text("request"),
        Column::Number("answers"),
        Column::Number("50 % within"),
        Column::Number("95 %"),
        Column::Number("99 %"),
    ];
    table(&columns, &rows, "The API has not been asked yet.")
}

fn by_status(statuses: &[(u16, u64)]) -> Html {
    let rows: Vec<Vec<Html>> = statuses
        .iter()
        .map(|(status, count)| {
            vec![
                Html::text(&status.to_string()),
                Html::text(&format::count(*count)),
            ]
        })
        .collect();
    let columns = [Column::Text("status"), Column::Number("answers")];
    table(&columns, &rows, "Nothing was answered yet.")
}
