//! Counters of requests and events, in the text form of Prometheus.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::api::ROUTES;

/// Upper bounds of the buckets of latencies, in microseconds.
const BOUNDS: [u64; 20] = [
    50, 100, 200, 350, 500, 750, 1000, 1500, 2500, 5000, 7500, 10_000, 25_000, 50_000, 100_000,
    250_000, 500_000, 1_000_000, 2_500_000, 10_000_000,
];
/// Minutes that are remembered one by one.
const MINUTES: usize = 60;

/// Counters since the start.
#[derive(Debug)]
pub struct Metrics {
    routes: Vec<RouteCounts>,
    events: AtomicU64,
    indexes: AtomicU64,
    rejected: AtomicU64,
    looked_up: AtomicU64,
    minutes: Mutex<Vec<Minute>>,
}

/// What happened in one minute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Minute {
    /// The minute of unix time.
    pub minute: i64,
    /// Requests that were answered.
    pub requests: u64,
    /// Those with a status of 500 or more.
    pub errors: u64,
    /// Events that were learned.
    pub events: u64,
}

/// Answers of one route, by status and by latency.
#[derive(Debug)]
struct RouteCounts {
    /// By status, from 100 on.
    statuses: Vec<AtomicU64>,
    buckets: Vec<AtomicU64>,
    microseconds: AtomicU64,
}

fn zeros(count: usize) -> Vec<AtomicU64> {
    (0..count).map(|_| AtomicU64::new(0)).collect()
}

impl Default for Metrics {
    fn default() -> Self {
        // One more for what is no route.
        let routes = (0..=ROUTES.len()).map(|_| RouteCounts {
            statuses: zeros(500),
            buckets: zeros(BOUNDS.len() + 1),
            microseconds: AtomicU64::new(0),
        });
        Self {
            routes: routes.collect(),
            events: AtomicU64::new(0),
            indexes: AtomicU64::new(0),
            rejected: AtomicU64::new(0),
            looked_up: AtomicU64::new(0),
            minutes: Mutex::new(Vec::new()),
        }
    }
}

impl Metrics {
    /// Counts an answer; `route` is its place in the table of routes, if it is one.
    pub fn count(&self, route: Option<usize>, status: u16, took: Duration) {
        let route = &self.routes[route.unwrap_or(ROUTES.len())];
        let micros = took.as_micros() as u64;
        let bucket = BOUNDS.partition_point(|&bound| bound < micros);
        route.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        route.microseconds.fetch_add(micros, Ordering::Relaxed);
        if let Some(count) = route.statuses.get(usize::from(status).saturating_sub(100)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.this_minute(|minute| {
            minute.requests += 1;
            minute.errors += u64::from(status >= 500);
        });
    }

    /// Counts events that were learned.
    pub fn count_events(&self, events: u64) {
        self.events.fetch_add(events, Ordering::Relaxed);
        self.this_minute(|minute| minute.events += events);
    }

    /// Counts an index that was made.
    pub fn count_index(&self) {
        self.indexes.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a list that a shortlist gave.
    pub fn count_looked_up(&self) {
        self.looked_up.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a record that was stored and that the model rejected.
    pub fn count_rejected(&self) {
        self.rejected.fetch_add(1, Ordering::Relaxed);
    }

    /// The last minutes in which something happened, oldest first.
    #[must_use]
    pub fn minutes(&self) -> Vec<Minute> {
        let minutes = self.minutes.lock().unwrap_or_else(PoisonError::into_inner);
        minutes.clone()
    }

    /// Events that were learned since the start.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events.load(Ordering::Relaxed)
    }

    /// Answers by status since the start, of all routes.
    #[must_use]
    pub fn statuses(&self) -> Vec<(u16, u64)> {
        let of_status = |at: usize| {
            let counts = self.routes.iter();
            let sum = counts
                .map(|route| route.statuses[at].load(Ordering::Relaxed))
                .sum();
            (at as u16 + 100, sum)
        };
        (0..500)
            .map(of_status)
            .filter(|&(_, count)| count > 0)
            .collect()
    }

    /// Answers of a route since the start.
    #[must_use]
    pub fn answers(&self, route: usize) -> u64 {
        let counts = self.routes[route].buckets.iter();
        counts.map(|count| count.load(Ordering::Relaxed)).sum()
    }

    /// The latency in seconds that a share of the answers of a route stayed within, by the upper bound of
    /// its bucket; all routes if none is named.
    #[must_use]
    pub fn quantile(&self, route: Option<usize>, share: f64) -> Option<f64> {
        let routes = match route {
            Some(route) => &self.routes[route..=route],
            None => &self.routes[..],
        };
        let of_bucket = |bucket: usize| -> u64 {
            let counts = routes.iter().map(|route| &route.buckets[bucket]);
            counts.map(|count| count.load(Ordering::Relaxed)).sum()
        };
        let counts: Vec<u64> = (0..=BOUNDS.len()).map(of_bucket).collect();
        let all: u64 = counts.iter().sum();
        let wanted = (share * all as f64).ceil() as u64;
        let mut below = 0;
        for (bucket, count) in counts.iter().enumerate() {
            below += count;
            if below >= wanted && all > 0 {
                let bound = BOUNDS.get(bucket).or(BOUNDS.last()).copied();
                return bound.map(|micros| micros as f64 / 1e6);
            }
        }
        None
    }

    fn this_minute(&self, change: impl FnOnce(&mut Minute)) {
        let now = crate::clock::now_ms() / 60_000;
        let mut minutes = self.minutes.lock().unwrap_or_else(PoisonError::into_inner);
        if minutes.last().is_none_or(|last| last.minute != now) {
            if minutes.len() == MINUTES {
                minutes.remove(0);
            }
            minutes.push(Minute {
                minute: now,
                ..Minute::default()
            });
        }
        if let Some(last) = minutes.last_mut() {
            change(last);
        }
    }

    /// All counters as Prometheus reads them, and gauges by name.
    #[must_use]
    pub fn text(&self, gauges: &[(&str, &str, f64)]) -> String {
        let mut text = String::new();
        let head = |text: &mut String, name: &str, help: &str, kind: &str| {
            let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
        };
        head(
            &mut text,
            "absentia_requests_total",
            "Answers by route and status.",
            "counter",
        );
        let names = ROUTES.iter().map(|route| (route.method, route.path));
        let names: Vec<_> = names.chain([("", "other")]).collect();
        for (route, (method, path)) in self.routes.iter().zip(&names) {
            for (at, count) in route.statuses.iter().enumerate() {
                let count = count.load(Ordering::Relaxed);
                if count > 0 {
                    let _ = writeln!(
                        text,
                        "absentia_requests_total{{method=\"{method}\",route=\"{path}\",status=\"{}\"}} {count}",
                        at + 100
                    );
                }
            }
        }
        let name = "absentia_request_seconds";
        head(&mut text, name, "Time to answer, by route.", "histogram");
        for (route, (method, path)) in self.routes.iter().zip(&names) {
            let label = format!("method=\"{method}\",route=\"{path}\"");
            let counts = route
                .buckets
                .iter()
                .map(|count| count.load(Ordering::Relaxed));
            let counts: Vec<u64> = counts.collect();
            let all: u64 = counts.iter().sum();
            if all == 0 {
                continue;
            }
            let mut below = 0;
            for (bound, count) in BOUNDS.iter().zip(&counts) {
                below += count;
                let bound = *bound as f64 / 1e6;
                let _ = writeln!(text, "{name}_bucket{{{label},le=\"{bound}\"}} {below}");
            }
            let sum = route.microseconds.load(Ordering::Relaxed) as f64 / 1e6;
            let _ = write!(
                text,
                "{name}_bucket{{{label},le=\"+Inf\"}} {all}\n{name}_sum{{{label}}} {sum}\n{name}_count{{{label}}} {all}\n"
            );
        }
        let counters = [
            ("absentia_events_total", "Events learned.", &self.events),
            (
                "absentia_indexes_total",
                "Indexes made in the background.",
                &self.indexes,
            ),
            (
                "absentia_records_rejected_total",
                "Records that were stored and that the model rejected.",
                &self.rejected,
            ),
            (
                "absentia_lists_looked_up_total",
                "Lists that shortlists gave, without ranking.",
                &self.looked_up,
            ),
        ];
        for (name, help, count) in counters {
            head(&mut text, name, help, "counter");
            let _ = writeln!(text, "{name} {}", count.load(Ordering::Relaxed));
        }
        for (name, help, value) in gauges {
            head(&mut text, name, help, "gauge");
            let _ = writeln!(text, "{name} {value}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_is_counted_and_quantiles_are_bounds() {
        let metrics = Metrics::default();
        metrics.count(Some(0), 200, Duration::from_micros(40));
        metrics.count(Some(0), 503, Duration::from_micros(900));
        metrics.count(None, 404, Duration::from_secs(100));
        assert_eq!(metrics.statuses(), [(200, 1), (404, 1), (503, 1)]);
        assert_eq!(metrics.quantile(Some(0), 0.5), Some(50e-6));
        assert_eq!(metrics.quantile(Some(0), 0.99), Some(1000e-6));
        assert_eq!(metrics.quantile(None, 1.0), Some(10.0));
        assert_eq!(metrics.quantile(Some(1), 0.5), None);
        let text = metrics.text(&[("absentia_users", "Users.", 3.0)]);
        assert!(text.contains("status=\"503\"} 1"), "{text}");
        assert!(text.contains("absentia_users 3"), "{text}");
        let minutes = metrics.minutes();
        assert_eq!(minutes.iter().map(|minute| minute.requests).sum::<u64>(), 3);
    }
}
