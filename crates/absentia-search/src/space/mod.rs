//! Which settings are searched, and what a point of the space stands for.
//!
//! The penalty is not searched as λ but as `λ m̄^ν / n̄`, the penalty of a typical row (`typical_row.rs`).

mod data_facts;
mod dimension;
mod family;
mod recipes;
mod relations;
mod typical_row;

use absentia::data::{Confidence, Interactions, Targets};
use absentia::weights::{Presence, Product, Scheme, SchemeSpec, Strength, Term, TimeFactor};
use absentia::{Params, Solver};
pub(crate) use data_facts::DataFacts;
pub(crate) use dimension::three_digits;
pub use dimension::{Dimension, Range};
pub(crate) use family::Family;
pub use relations::{RelationSettings, SearchedRelation};

use crate::trial::Trial;

/// How much of the space is searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Everything.
    #[default]
    All,
    /// Weights by popularity, the penalty and its exponent: the paper's model.
    Popularity,
    /// One weight for all missing entries, the penalty and its exponent.
    Uniform,
}

impl Scope {
    /// The name used on the command line and in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Scope::All => "all",
            Scope::Popularity => "popularity",
            Scope::Uniform => "uniform",
        }
    }
}

/// A choice of all settings, except for the number of factors, of sweeps and the post-scaling.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Weights on missing entries.
    pub weights: SchemeSpec,
    /// All other settings; factors, sweeps and post-scaling have their defaults.
    pub params: Params,
    /// Settings of relations, one for each that is trained.
    pub relations: Vec<RelationSettings>,
}

/// The settings to search for one data set; points are vectors of numbers from 0 to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Space {
    dimensions: Vec<Dimension>,
    scope: Scope,
    facts: DataFacts,
    relations: Vec<SearchedRelation>,
}

const WEIGHT: &str = "weight on missing";
const ALPHA: &str = "popularity exponent";
const BETA: &str = "activity exponent";
pub(crate) const PENALTY: &str = "penalty";
pub(crate) const NU: &str = "penalty exponent";
const TARGETS: &str = "targets";
const TARGET_EXPONENT: &str = "target exponent";
const CONFIDENCE: &str = "confidence";
const STRENGTH: &str = "confidence strength";
const SOLVER: &str = "solver";
const AGE: &str = "sharpness of age";
const HALF_LIFE: &str = "half-life of counts";

impl Space {
    /// The settings worth searching on `data`: those that need values or times are left out if there are
    /// none.
    #[must_use]
    pub fn of(data: &Interactions<'_>, scope: Scope) -> Self {
        let facts = DataFacts::of(data);
        let mut dimensions = vec![Dimension::new(
            WEIGHT,
            Range::Log {
                low: 1e-4,
                high: 1.0,
            },
        )];
        if scope != Scope::Uniform {
            dimensions.push(switch(ALPHA, 0.0, 0.1, (0.0, 1.0)));
        }
        dimensions.push(Dimension::new(
            PENALTY,
            Range::Log {
                low: 3e-3,
                high: 3.0,
            },
        ));
        dimensions.push(switch(NU, 1.0, 0.4, (0.4, 1.0)));
        if scope == Scope::All {
            dimensions.push(switch(BETA, 0.0, 0.5, (0.0, 0.6)));
            dimensions.push(switch(TARGET_EXPONENT, 0.0, 0.25, (0.0, 0.6)));
            dimensions.extend(facts.value_dimensions());
            dimensions.extend(facts.time_dimensions());
            let options = vec![("eals", 0.8), ("subspace", 0.2)];
            dimensions.push(Dimension::new(SOLVER, Range::Choice { options }));
        }
        Self {
            dimensions,
            scope,
            facts,
            relations: Vec::new(),
        }
    }

    /// Searches settings of relations as well.
    #[must_use]
    pub fn with_relations(mut self, relations: Vec<SearchedRelation>) -> Self {
        let added = relations.iter().flat_map(SearchedRelation::dimensions);
        self.dimensions.extend(added);
        self.relations = relations;
        self
    }

    /// The axes.
    #[must_use]
    pub fn dimensions(&self) -> &[Dimension] {
        &self.dimensions
    }

    /// How much of the settings it has.
    #[must_use]
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// The point with the settings that a point of another space of the same data has; others are switched off.
    pub(crate) fn point_from(&self, other: &Space, point: &[f64]) -> Vec<f64> {
        let place = |dimension: &Dimension| {
            let mut others = other.dimensions.iter();
            let at = others.position(|found| found.name == dimension.name);
            at.map_or_else(|| plain(dimension), |at| point[at])
        };
        self.dimensions.iter().map(place).collect()
    }

    /// Whether item factors may be rescaled after training.
    #[must_use]
    pub fn rescales(&self) -> bool {
        self.scope == Scope::All
    }

    /// The settings a point stands for.
    #[must_use]
    pub fn settings(&self, point: &[f64]) -> Settings {
        let value = |name| self.value(point, name);
        let weight = value(WEIGHT).unwrap_or(0.1);
        let nu = value(NU).unwrap_or(1.0);
        let penalty = value(PENALTY).unwrap_or(0.1);
        let lambda = self.facts.row.lambda(penalty, weight, nu);
        Settings {
            weights: scheme(
                weight,
                value(ALPHA).unwrap_or(0.0),
                value(BETA).unwrap_or(0.0),
                value(AGE).unwrap_or(0.0),
            ),
            params: Params {
                regularization: three_digits(lambda) as f32,
                reg_exponent: nu as f32,
                solver: match value(SOLVER) {
                    Some(1.0..) => Solver::Subspace { block: 16 }.into(),
                    _ => Solver::Eals.into(),
                },
                targets: self.targets(point),
                confidence: self.confidence(point),
                post_scale_half_life: value(HALF_LIFE)
                    .and_then(|share| self.facts.half_life(share)),
                ..Params::default()
            },
            relations: self
                .relations
                .iter()
                .map(|relation| relation.settings(|name| self.value(point, name)))
                .collect(),
        }
    }

    /// The point with these values; other settings are switched off or in the middle of their axis.
    #[must_use]
    pub fn point(&self, values: &[(&str, f64)]) -> Vec<f64> {
        let place = |dimension: &Dimension| {
            let given = values.iter().find(|(name, _)| *name == dimension.name);
            given.map_or_else(|| plain(dimension), |(_, value)| dimension.place(*value))
        };
        self.dimensions.iter().map(place).collect()
    }

    /// The point with this many times the penalty; `None` if the axis ends before.
    pub(crate) fn penalised(&self, point: &[f64], times: f64) -> Option<Vec<f64>> {
        let at = self.dimensions.iter().position(|d| d.name == PENALTY)?;
        let dimension = &self.dimensions[at];
        let mut moved = point.to_vec();
        moved[at] = dimension.place(dimension.value(point[at]) * times);
        let got = dimension.value(moved[at]) / dimension.value(point[at]);
        ((got / times).ln().abs() < 0.05).then_some(moved)
    }

    /// The point with one setting switched off; `None` if it cannot be.
    pub(crate) fn without(&self, point: &[f64], axis: usize) -> Option<Vec<f64>> {
        let share = self.dimensions[axis].range.off_share()?;
        let mut plain = point.to_vec();
        plain[axis] = share / 2.0;
        Some(plain)
    }

    /// Whether a point has no setting on an axis that may have one.
    pub(crate) fn is_off(&self, point: &[f64], axis: usize) -> bool {
        let share = self.dimensions[axis].range.off_share();
        share.is_some_and(|share| point[axis] < share)
    }

    /// Whether the setting on an axis has a part in a trial: one that is switched off has none, and some belong to a
    /// choice that was not made.
    #[must_use]
    pub fn is_in_use(&self, trial: &Trial, axis: usize) -> bool {
        let dimension = &self.dimensions[axis];
        match &*dimension.name {
            STRENGTH => self.confidence(&trial.point) != Confidence::default(),
            TARGET_EXPONENT => matches!(self.targets(&trial.point), Targets::Normalized { .. }),
            HALF_LIFE => {
                trial.params.post_scale != 0.0 && dimension.value(trial.point[axis]) != 0.0
            }
            ALPHA | BETA | AGE => dimension.value(trial.point[axis]) != 0.0,
            _ => true,
        }
    }

    /// The ratio of the penalties of two points; `None` if they differ in anything else.
    pub(crate) fn penalty_over(&self, point: &[f64], other: &[f64]) -> Option<f64> {
        let at = self.dimensions.iter().position(|d| d.name == PENALTY)?;
        let mut pairs = point.iter().zip(other).enumerate();
        let alike = pairs.all(|(axis, (x, y))| axis == at || x.to_bits() == y.to_bits());
        let value = |point: &[f64]| self.dimensions[at].value(point[at]);
        alike.then(|| value(point) / value(other))
    }

    fn value(&self, point: &[f64], name: &str) -> Option<f64> {
        let at = self.dimensions.iter().position(|d| d.name == name)?;
        Some(self.dimensions[at].value(*point.get(at)?))
    }

    /// Targets of the space that take the most memory: those that differ from entry to entry, if any do.
    pub(crate) fn largest_targets(&self) -> Targets {
        let searched = |name| self.dimensions().iter().any(|found| found.name == name);
        if searched(TARGETS) || searched(TARGET_EXPONENT) {
            Targets::Log
        } else {
            Targets::Binary
        }
    }

    /// Confidence of the space that takes the most memory: one that differs from entry to entry, if any does.
    pub(crate) fn largest_confidence(&self) -> Confidence {
        if self
            .dimensions()
            .iter()
            .any(|found| found.name == CONFIDENCE)
        {
            Confidence::Linear { alpha: 1.0 }
        } else {
            Confidence::default()
        }
    }

    fn targets(&self, point: &[f64]) -> Targets {
        // The same exponent for users and items: a search has few trials for one more axis.
        let exponent = self.value(point, TARGET_EXPONENT).unwrap_or(0.0) as f32;
        match self.value(point, TARGETS) {
            Some(1.0) => Targets::Raw,
            Some(2.0..) => Targets::Log,
            _ if exponent == 0.0 => Targets::Binary,
            _ => Targets::Normalized {
                user: exponent,
                item: exponent,
            },
        }
    }

    /// Confidence by values is scaled so that an average entry has a weight of 1 + strength.
    fn confidence(&self, point: &[f64]) -> Confidence {
        let name = self.dimensions.iter().position(|d| d.name == CONFIDENCE);
        let name = name.map_or_else(String::new, |at| self.dimensions[at].text(point[at]));
        let strength = self.value(point, STRENGTH).unwrap_or(1.0);
        let mean = self.facts.mean_value.unwrap_or(1.0);
        match name.as_str() {
            "linear" => Confidence::Linear {
                alpha: three_digits(strength / mean) as f32,
            },
            "log" => Confidence::Log {
                alpha: three_digits(strength) as f32,
                epsilon: three_digits(mean) as f32,
            },
            "decay" => Confidence::Decay {
                // A larger strength means a shorter half-life: from 30 times the span of the data to 1/30.
                half_life: three_digits(self.facts.span.unwrap_or(1.0) / strength / 3.0).max(1.0),
                now: None,
            },
            _ => Confidence::default(),
        }
    }
}

fn switch(name: &'static str, off: f64, share: f64, (low, high): (f64, f64)) -> Dimension {
    Dimension::new(
        name,
        Range::Switch {
            off,
            share,
            low,
            high,
        },
    )
}

/// The place of a setting that is not given: switched off, the first option, or the middle.
fn plain(dimension: &Dimension) -> f64 {
    match &dimension.range {
        Range::Switch { share, .. } | Range::LogSwitch { share, .. } => share / 2.0,
        Range::Choice { .. } => dimension.place(0.0),
        Range::Linear { .. } | Range::Log { .. } => 0.5,
    }
}

/// The simplest scheme with these exponents of popularity and activity and this sharpness of age.
fn scheme(weight: f64, alpha: f64, beta: f64, sharpness: f64) -> SchemeSpec {
    let factor = |exponent: f64| (exponent != 0.0).then_some(exponent as f32);
    let strength = Strength::Mean(weight as f32);
    let mut product = Product::new(strength, factor(alpha), factor(beta));
    product.presence = factor(sharpness).map(|sharpness| Presence {
        sharpness,
        ..Presence::new(TimeFactor::Age)
    });
    let has_none = product.popularity.is_none() && product.activity.is_none();
    if has_none && product.presence.is_none() {
        return SchemeSpec::uniform(weight as f32);
    }
    Scheme::One(Term::Product(product))
}

#[cfg(test)]
mod tests {
    use super::*;
    use absentia::data::{Duplicates, Triplets};
    use absentia::relations::{Content, Relation, RelationEntries};
    use absentia::weights::Scheme;

    fn data(values: bool) -> Interactions<'static> {
        let (users, items) = ([0, 0, 1, 1, 2], [0, 1, 1, 2, 2]);
        let triplets = Triplets::new(&users, &items);
        let built = if values {
            triplets
                .values(&[1.0, 2.0, 3.0, 4.0, 5.0])
                .times(&[0, 10, 20, 30, 100])
                .build(3, 3, Duplicates::Error)
        } else {
            triplets.build(3, 3, Duplicates::Error)
        };
        built.unwrap().into_owned()
    }

    #[test]
    fn what_the_data_lacks_is_not_searched() {
        let names = |data: &Interactions<'_>, scope| -> Vec<String> {
            let space = Space::of(data, scope);
            let names = space.dimensions().iter().map(|d| d.name.to_string());
            names.collect()
        };
        let plain = names(&data(false), Scope::All);
        let has = |names: &[String], name: &str| names.iter().any(|found| found == name);
        assert!(!has(&plain, CONFIDENCE) && !has(&plain, TARGETS));
        assert!(!has(&plain, AGE) && !has(&plain, HALF_LIFE));
        let rich = names(&data(true), Scope::All);
        assert!(has(&rich, CONFIDENCE) && has(&rich, TARGETS));
        assert!(has(&rich, AGE) && has(&rich, HALF_LIFE));
        assert_eq!(names(&data(true), Scope::Uniform), [WEIGHT, PENALTY, NU]);
    }

    #[test]
    fn settings_of_choices_that_were_not_made_are_not_in_use() {
        let space = Space::of(&data(true), Scope::All);
        let in_use = |values: &[(&str, f64)], name: &str| {
            let axis = space.dimensions().iter().position(|d| d.name == name);
            let mut trial = Trial::unmeasured(None, Params::default());
            trial.point = space.point(values);
            space.is_in_use(&trial, axis.expect("a dimension"))
        };
        assert!(!in_use(&[(CONFIDENCE, 0.0)], STRENGTH));
        assert!(in_use(&[(CONFIDENCE, 1.0)], STRENGTH));
        assert!(!in_use(&[(ALPHA, 0.0)], ALPHA) && in_use(&[(ALPHA, 0.4)], ALPHA));
        let exponent = (TARGET_EXPONENT, 0.4);
        assert!(in_use(&[exponent], TARGET_EXPONENT));
        assert!(!in_use(&[exponent, (TARGETS, 2.0)], TARGET_EXPONENT));
        assert!(in_use(&[], NU) && in_use(&[], WEIGHT));
    }

    #[test]
    fn every_corner_is_a_run_that_can_be_made() {
        let space = Space::of(&data(true), Scope::All);
        let n = space.dimensions().len();
        for corner in 0..1_u32 << n {
            let point: Vec<f64> = (0..n).map(|at| f64::from(corner >> at & 1)).collect();
            let settings = space.settings(&point);
            assert!(settings.params.check().is_ok(), "{point:?}");
            let text = settings.weights.to_string();
            assert_eq!(text.parse::<SchemeSpec>().ok(), Some(settings.weights));
        }
    }

    /// What is given of a relation is not searched; the rest is, and changes the relation.
    #[test]
    fn settings_of_relations_are_axes_of_their_own() {
        let tags = SearchedRelation {
            name: "items-tags".to_owned(),
            strength: true,
            weights: true,
            targets: false,
        };
        let plain = Space::of(&data(false), Scope::Uniform);
        let space = plain
            .clone()
            .with_relations(vec![tags, SearchedRelation::default()]);
        let names: Vec<&str> = space.dimensions().iter().map(|d| &*d.name).collect();
        let expected = ["strength of items-tags", "weight on missing items-tags"];
        assert_eq!(names[plain.dimensions().len()..], expected);
        let point = space.point(&[("strength of items-tags", 2.0)]);
        let settings = space.settings(&point).relations;
        assert_eq!(
            (settings[0].strength, settings[0].targets),
            (Some(2.0), None)
        );
        assert_eq!(settings[1], RelationSettings::default());
        let mut relation = Relation {
            first: 1,
            second: 2,
            strength: 0.5,
            content: Content::Entries(Box::new(RelationEntries {
                data: data(false),
                scheme: Scheme::uniform(1.0),
                targets: Targets::Log,
                confidence: Confidence::default(),
            })),
        };
        settings[0].apply(&mut relation);
        assert!((relation.strength - 2.0).abs() < 1e-6);
        let Some(entries) = relation.entries() else {
            panic!("entries")
        };
        assert_eq!(entries.targets, Targets::Log);
        let weight = settings[0].weight.unwrap();
        assert_eq!(entries.scheme, Scheme::uniform(weight));
    }
}
