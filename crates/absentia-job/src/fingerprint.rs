//! What a run is made on, in a few bytes: a checkpoint or a log holds them to know its run again.

use absentia::Interactions;
use absentia::evaluate::TestSet;
use absentia::relations::{Content, Relation, Relations};
use absentia_io::IdMap;
use absentia_io::model::Ids;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use crate::training::Measuring;
use crate::training_data::Input;

/// Data, held-out rows, and how models are measured on them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint {
    ids: u64,
    pairs: u64,
    values: u64,
    times: Option<u64>,
    weights: u64,
    held_out: Option<u64>,
    /// How models are measured, where rows are held out.
    measured: Option<Measured>,
    /// The files that factors start from.
    init: Vec<String>,
    /// Entries of the relations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    related: Vec<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Measured {
    metric: String,
    every: usize,
}

/// What is not the same in two runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Difference {
    /// A part of the data.
    Data(&'static str),
    /// A setting: its key, and its value then and now.
    Setting(&'static str, String, String),
}

impl Fingerprint {
    /// The fingerprint of a run that starts from the factors that `init` names.
    #[must_use]
    pub fn of(input: &Input<'_>, measuring: Option<&Measuring>, init: &[String]) -> Self {
        let entries = input.data.by_user();
        let positions = 0..entries.len();
        let (targets, weights) = (entries.targets(), entries.weights());
        let measuring = measuring.filter(|_| input.held_out.is_some());
        Self {
            ids: of_ids(input.ids),
            pairs: pairs(input.data),
            values: of_numbers(positions.clone().map(|at| targets.get(at).to_bits())),
            times: input.data.times().map(|times| {
                let halves = times
                    .iter()
                    .flat_map(|&time| [time as u32, (time >> 32) as u32]);
                of_numbers(halves)
            }),
            weights: of_numbers(positions.map(|at| weights.get(at).to_bits())),
            held_out: input.held_out.map(of_test),
            measured: measuring.map(|measuring| Measured {
                metric: measuring.metric.to_string(),
                every: measuring.every,
            }),
            init: init.to_vec(),
            related: input.related.map(of_relations).unwrap_or_default(),
        }
    }

    /// The first thing that is not as it was then.
    pub(crate) fn difference(&self, then: &Self) -> Option<Difference> {
        let parts = [
            (self.ids != then.ids, "users and items"),
            (self.pairs != then.pairs, "pairs of user and item"),
            (self.values != then.values, "values"),
            (self.times != then.times, "times"),
            (self.weights != then.weights, "weights of entries"),
            (self.held_out != then.held_out, "held-out rows"),
            (self.related != then.related, "relations"),
        ];
        if let Some((_, part)) = parts.into_iter().find(|(differs, _)| *differs) {
            return Some(Difference::Data(part));
        }
        let measured = self.measured.as_ref().zip(then.measured.as_ref());
        let measured = measured.and_then(|(now, then)| {
            let every = (then.every.to_string(), now.every.to_string());
            changed_setting("valid-metric", &then.metric, &now.metric)
                .or_else(|| changed_setting("valid-every", &every.0, &every.1))
        });
        measured.or_else(|| changed_setting("init", &then.init.join(","), &self.init.join(",")))
    }
}

/// A setting whose text is not that of then.
pub(crate) fn changed_setting(key: &'static str, then: &str, now: &str) -> Option<Difference> {
    (then != now).then(|| Difference::Setting(key, then.to_owned(), now.to_owned()))
}

/// A number for ids and everything that the entries of some data hold.
#[must_use]
pub fn of_data(data: &Interactions<'_>, ids: &Ids, held_out: &[&TestSet]) -> String {
    let input = Input {
        data,
        ids,
        held_out: None,
        related: None,
    };
    let all = Fingerprint::of(&input, None, &[]);
    let parts = [all.ids, all.pairs, all.values, all.weights];
    let mut hash = Xxh3::new();
    let rest = held_out.iter().map(|test| of_test(test));
    for part in parts.into_iter().chain(all.times).chain(rest) {
        hash.update(&part.to_le_bytes());
    }
    format!("{:016x}", hash.digest())
}

/// A number for the entries of each relation.
fn of_relations(relations: &Relations<'_>) -> Vec<u64> {
    relations.relations.iter().map(of_relation).collect()
}

/// A number for what a relation holds.
#[must_use]
pub fn of_relation(relation: &Relation<'_>) -> u64 {
    let mut hash = Xxh3::new();
    let numbers = match &relation.content {
        Content::Entries(entries) => of_entries(&entries.data).to_vec(),
        Content::Features(features) => {
            let numbers = features.targets().as_slice().iter();
            let known = features.known().iter().map(|&known| u32::from(known));
            vec![of_numbers(known), of_numbers(numbers.map(|x| x.to_bits()))]
        }
    };
    for number in numbers {
        hash.update(&number.to_le_bytes());
    }
    hash.digest()
}

fn of_entries(data: &Interactions<'_>) -> [u64; 3] {
    let entries = data.by_user();
    let positions = 0..entries.len();
    let (targets, weights) = (entries.targets(), entries.weights());
    let values = positions.clone().map(|at| targets.get(at).to_bits());
    [
        pairs(data),
        of_numbers(values),
        of_numbers(positions.map(|at| weights.get(at).to_bits())),
    ]
}

fn pairs(data: &Interactions<'_>) -> u64 {
    let entries = data.by_user();
    let mut hash = Xxh3::new();
    for offset in entries.offsets() {
        hash.update(&offset.to_le_bytes());
    }
    let items = of_numbers(entries.indices().iter().copied());
    hash.update(&items.to_le_bytes());
    if data.n_interactions() < data.len() {
        let exposed = (0..data.len()).map(|at| u32::from(data.is_exposed(at)));
        hash.update(&of_numbers(exposed).to_le_bytes());
    }
    hash.digest()
}

fn of_ids(ids: &Ids) -> u64 {
    let mut hash = Xxh3::new();
    let mut add = |ids: &IdMap| {
        hash.update(&(ids.len() as u64).to_le_bytes());
        for id in ids.iter() {
            hash.update(&(id.len() as u64).to_le_bytes());
            hash.update(id.as_bytes());
        }
    };
    add(&ids.users);
    add(&ids.items);
    hash.digest()
}

fn of_test(test: &TestSet) -> u64 {
    let users = test.users().iter().enumerate();
    of_numbers(users.flat_map(|(row, &user)| {
        let items = test.lists().row(row);
        let head = [user, items.len() as u32];
        head.into_iter().chain(items.iter().copied())
    }))
}

fn of_numbers(numbers: impl Iterator<Item = u32>) -> u64 {
    const BUFFER: usize = 1 << 14;
    let mut hash = Xxh3::new();
    let mut bytes = Vec::with_capacity(BUFFER);
    for number in numbers {
        bytes.extend_from_slice(&number.to_le_bytes());
        if bytes.len() >= BUFFER {
            hash.update(&bytes);
            bytes.clear();
        }
    }
    hash.update(&bytes);
    hash.digest()
}
