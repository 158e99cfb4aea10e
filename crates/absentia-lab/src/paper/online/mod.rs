//! The online protocol of the paper's predecessor (SIGIR 2016): events in the order of their times, each
//! predicted before it is learned.

mod follow;
mod popular;

use absentia::Model;
use absentia::memory::Stage;
use absentia::online::{Online, REFIT_SWEEPS, Settings, WeightMode};
use absentia_report::format::{count, counted};
use anyhow::Result;

use super::data::EventStream;
use super::lab::{Lab, Setting, TOP, popularity};
use super::part::{AxisScale, Block, Grid, Lines};
use super::scale::Size;
use follow::{LONG, Outcome, Predictor, Variant};
use popular::Popular;

/// The authors' weights on missing entries: c0 (their w0) and α.
const WEIGHTS: (f32, f32) = (512.0, 0.4);
/// Their K and sweeps.
const AUTHORS: (usize, usize) = (64, 50);
/// Number of events between refits.
const REFIT_EVERY: usize = 1000;
/// Number of events that recent popularity counts.
const RECENT: usize = 1000;

/// The introduction of the section.
pub(super) fn introduction() -> Vec<Block> {
    vec![Block::text(format!(
        "He, Zhang, Kan and Chua, Fast Matrix Factorization for Online Recommendation with Implicit Feedback \
         (SIGIR 2016): rows are sorted by time, a model is trained on the first nine tenths, and the last \
         tenth is a stream. Before an event is learned, all items are ranked for its user, including items that \
         the user already has, and the rank of its item is measured. The hit rate is the share of events whose \
         item is among the first {TOP}. NDCG is the mean of ln 2 / ln(rank + 1) over all events, where an item \
         behind the first {TOP} counts 0; MRR is the mean of 1 / rank. An event whose user or item the model \
         does not know counts 0. Curves are means over the stream so far."
    ))]
}

/// The curves and tables of one data set.
pub(super) fn blocks(lab: &Lab<'_>, stream: &EventStream) -> Result<Vec<Block>> {
    let size = lab.size;
    let (factors, sweeps) = size.online_model();
    let setting = Setting {
        scheme: popularity(WEIGHTS.0, WEIGHTS.1),
        params: lab.params(factors, sweeps),
    };
    let model = lab.train(&stream.train, &setting)?;
    let planned = Online::planned_bytes(&model, &stream.train);
    let stage = Stage::new("learning from a stream").with("online model", planned);
    lab.memory.enter(stage)?;
    // Inside of the pool no event waits for another thread to wake up.
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(lab.n_threads())
        .build()?;
    let outcomes = pool.install(|| outcomes(size, &model, stream))?;
    let find = |names: &[String]| -> Vec<&Outcome> {
        let found = |name: &String| outcomes.iter().find(|outcome| outcome.name == *name);
        names.iter().filter_map(found).collect()
    };
    let steps: Vec<String> = size
        .online_steps()
        .iter()
        .map(|&n| steps(size, n))
        .collect();
    let weights: Vec<String> = [steps[0].clone()]
        .into_iter()
        .chain(size.online_weights().iter().map(|&w| heavier(w)))
        .collect();
    let main = [
        NEVER,
        ALL_TIME,
        RECENTLY,
        &steps[0],
        REFIT_ALONE,
        REFIT,
        LIVE,
    ]
    .map(str::to_owned);
    let of = &stream.name;
    Ok(vec![
        Block::text(described(stream, &setting)),
        Block::Table(table(of, &outcomes)),
        Block::Small(vec![
            curves(format!("{of}: learning and not learning"), &find(&main)),
            curves(format!("{of}: steps of an event"), &find(&steps)),
            curves(format!("{of}: weight of a new entry"), &find(&weights)),
            by_length(of, &find(&main[..6])),
        ]),
        Block::Table(length_table(of, &find(&main[..6]))),
    ])
}

const NEVER: &str = "never updated";
const ALL_TIME: &str = "most popular of all time";
const RECENTLY: &str = "most popular recently";
const REFIT_ALONE: &str = "refits alone";
const REFIT: &str = "1 step and refits";
const LIVE: &str = "1 step, live weights";

/// The line of a number of steps. With the authors' model, one step has all of their defaults.
fn steps(size: Size, n: u32) -> String {
    let name = counted(u64::from(n), "step");
    if n == 1 && size.online_model() == AUTHORS {
        return format!("{name} (authors' defaults)");
    }
    name
}

fn heavier(weight: f32) -> String {
    format!("1 step, new entries weigh {weight}")
}

/// Every way to learn, over the same stream.
fn outcomes(size: Size, model: &Model, stream: &EventStream) -> Result<Vec<Outcome>> {
    let plain = Variant {
        learns: true,
        settings: Settings::default(),
        weights: WeightMode::Frozen,
        refit: None,
    };
    let with = |steps: u32, weight_of_new: f32| Variant {
        settings: Settings {
            steps,
            weight_of_new,
        },
        ..plain
    };
    let refit = Some((size.online_refit(REFIT_EVERY), REFIT_SWEEPS));
    let never = Variant {
        learns: false,
        ..plain
    };
    let mut variants = vec![(NEVER.to_owned(), never)];
    for &n in size.online_steps() {
        variants.push((steps(size, n), with(n, 1.0)));
    }
    for &weight in size.online_weights() {
        variants.push((heavier(weight), with(1, weight)));
    }
    let live = Variant {
        weights: WeightMode::Live,
        ..plain
    };
    variants.push((LIVE.to_owned(), live));
    variants.push((REFIT.to_owned(), Variant { refit, ..plain }));
    let alone = Variant {
        refit,
        ..with(0, 1.0)
    };
    variants.push((REFIT_ALONE.to_owned(), alone));
    let mut outcomes = Vec::new();
    for (name, window) in [(ALL_TIME, None), (RECENTLY, Some(RECENT))] {
        let popular = Predictor::Popular(Popular::new(stream, window));
        outcomes.push(popular.follow(stream, name)?);
    }
    for (name, variant) in variants {
        let predictor = Predictor::of_model(model, stream, variant)?;
        outcomes.push(predictor.follow(stream, &name)?);
    }
    Ok(outcomes)
}

/// What is learned from, and with which settings.
fn described(stream: &EventStream, setting: &Setting) -> String {
    let total = stream.events.len();
    let share = |of: usize| 100.0 * of as f64 / total.max(1) as f64;
    let ids = &stream.ids;
    let events = || stream.events.iter();
    let new_users = events().filter(|event| ids.users.get(&event.user).is_none());
    let new_items = events().filter(|event| ids.items.get(&event.item).is_none());
    let is_authors = (setting.params.factors, setting.params.iterations) == AUTHORS;
    format!(
        "{}: {} training entries of {} users and {} items; {} events, {:.1} % of them by users and {:.1} % on \
         items that the training entries do not have. K = {}, c0 = {}, α = {}, λ = {}, {} sweeps{}. A refit is \
         {REFIT_SWEEPS} sweeps over all rows.",
        stream.name,
        count(stream.train.n_interactions() as u64),
        count(ids.users.len() as u64),
        count(ids.items.len() as u64),
        count(total as u64),
        share(new_users.count()),
        share(new_items.count()),
        setting.params.factors,
        WEIGHTS.0,
        WEIGHTS.1,
        setting.params.regularization,
        setting.params.iterations,
        if is_authors {
            ": with these, the line of 1 step has the authors' defaults"
        } else {
            ""
        },
    )
}

fn table(name: &str, outcomes: &[Outcome]) -> Grid {
    let mut grid = Grid::new(
        format!(
            "{name}: means over the stream, and the mean time to learn an event, refits included"
        ),
        ["learned by", "HR@100", "NDCG@100", "MRR", "microseconds"],
    );
    for outcome in outcomes {
        let means = &outcome.means;
        grid.row([
            outcome.name.clone(),
            format!("{:.4}", means.hit_rate),
            format!("{:.4}", means.ndcg),
            format!("{:.4}", means.mrr),
            match outcome.microseconds {
                Some(mean) => format!("{mean:.1}"),
                None => "–".to_owned(),
            },
        ]);
    }
    grid
}

fn curves(title: String, outcomes: &[&Outcome]) -> Lines {
    let lines = Lines::new(
        title,
        (AxisScale::Linear, "events"),
        (AxisScale::Linear, "hit rate@100 so far"),
    );
    outcomes.iter().fold(lines, |lines, outcome| {
        lines.series(outcome.name.clone(), outcome.curve.clone())
    })
}

fn length_name(length: usize) -> String {
    if length == LONG {
        format!("{LONG} and more")
    } else {
        length.to_string()
    }
}

fn by_length(name: &str, outcomes: &[&Outcome]) -> Lines {
    let lines = Lines::new(
        format!("{name}: by length of the user's history ({LONG} is {LONG} or more)"),
        (AxisScale::Whole, "interactions of the user so far"),
        (AxisScale::Linear, "hit rate@100"),
    );
    outcomes.iter().fold(lines, |lines, outcome| {
        let measured = outcome.by_length.iter().enumerate();
        let points = measured
            .filter(|(_, means)| means.events > 0)
            .map(|(length, means)| (length as f64, means.hit_rate));
        lines.series(outcome.name.clone(), points.collect())
    })
}

fn length_table(name: &str, outcomes: &[&Outcome]) -> Grid {
    let names = outcomes.iter().map(|outcome| outcome.name.clone());
    let columns = ["history".to_owned(), "events".to_owned()];
    let mut grid = Grid::new(
        format!(
            "{name}: hit rate@100 by the number of interactions that the user had at that moment"
        ),
        columns.into_iter().chain(names),
    );
    for length in 0..=LONG {
        let events = outcomes
            .first()
            .map_or(0, |first| first.by_length[length].events);
        let rates = outcomes.iter().map(|outcome| {
            let means = &outcome.by_length[length];
            if means.events == 0 {
                return "–".to_owned();
            }
            format!("{:.4}", means.hit_rate)
        });
        grid.row(
            [length_name(length), count(events)]
                .into_iter()
                .chain(rates),
        );
    }
    grid
}
