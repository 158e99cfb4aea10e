//! A relation as it is written.

use std::fmt;
use std::str::FromStr;

use absentia::data::Targets;
use absentia::relations::{Scaling, TypePair};
use absentia::weights::SchemeSpec;

use super::ConfidenceRule;
use crate::defaults;

/// Side information: `items-tags:tags.csv,strength=0.3,weights=uniform:0.02`.
///
/// The file has a column for each of the two types, in their order. An option may hold commas: it ends where the
/// next one starts.
///
/// A `.npy` array, or a table with `dense=yes`, has a row of numbers for each of the first type instead.
#[derive(Clone, Debug)]
pub struct RelationSpec {
    /// The two types, and whether the second role has factors of its own.
    pub types: TypePair,
    /// The file.
    pub file: String,
    /// What all weights of the relation are multiplied by, if given.
    pub strength: Option<f32>,
    /// Weights on its missing entries, if given.
    pub weights: Option<SchemeSpec>,
    /// How targets follow from its values, if given.
    pub targets: Option<Targets>,
    /// How weights of its entries follow from its values.
    pub confidence: ConfidenceRule,
    /// The regularization of the type that the relation adds.
    pub regularization: Option<f32>,
    /// The fewest entries that something of the second type must have; others are left out.
    pub least: u32,
    /// Whether the first line of a text has the names of its columns, if that is said.
    pub header: Option<bool>,
    /// How numbers are read and scaled, if every entry is one.
    pub features: Option<FeatureSpec>,
}

/// Two relations are equal if they train the same, whether a default was given or not.
impl PartialEq for RelationSpec {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

/// How features are read and scaled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeatureSpec {
    /// The file with the id of each row of an array.
    pub ids: Option<String>,
    /// How numbers become targets.
    pub scaling: Scaling,
}

/// Why a text is no relation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RelationTextError(String);

const OPTIONS: [&str; 11] = [
    "strength",
    "weights",
    "targets",
    "confidence",
    "regularization",
    "context",
    "least",
    "header",
    "dense",
    "ids",
    "scale",
];

/// Options that features do not have: they have no missing entries, and their numbers are targets.
const OF_ENTRIES: [&str; 5] = ["weights", "targets", "confidence", "context", "least"];

impl RelationSpec {
    /// A relation of a file, or of a table in memory, with the default of every option.
    #[must_use]
    pub fn new(first: &str, second: &str, file: &str) -> Self {
        Self {
            types: TypePair {
                first: first.to_owned(),
                second: second.to_owned(),
                context: false,
            },
            file: file.to_owned(),
            strength: None,
            weights: None,
            targets: None,
            confidence: ConfidenceRule::default(),
            regularization: None,
            least: 1,
            header: None,
            features: is_array(file).then(FeatureSpec::default),
        }
    }

    /// What all weights of the relation are multiplied by.
    #[must_use]
    pub fn strength(&self) -> f32 {
        self.strength.unwrap_or(defaults::RELATION_STRENGTH)
    }

    /// Weights on its missing entries.
    #[must_use]
    pub fn weights(&self) -> SchemeSpec {
        let given = self.weights.clone();
        given.unwrap_or_else(defaults::relation_weights)
    }

    /// How targets follow from its values.
    #[must_use]
    pub fn targets(&self) -> Targets {
        self.targets.unwrap_or_default()
    }

    /// Every file that it names.
    #[must_use]
    pub fn files(&self) -> Vec<&str> {
        let ids = self.features.as_ref().and_then(|one| one.ids.as_deref());
        std::iter::once(&self.file[..]).chain(ids).collect()
    }

    /// The name of the relation: its two types.
    #[must_use]
    pub fn name(&self) -> String {
        self.types.name()
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), RelationTextError> {
        let wrong = |expected: &str| wrong(format!("{name}={value}: expected {expected}"));
        let number = || {
            let number = value.parse::<f32>().ok().filter(|x| x.is_finite());
            let number = number.filter(|&x| x >= 0.0);
            number.ok_or_else(|| wrong("a number of at least 0"))
        };
        match name {
            "strength" => self.strength = Some(number()?),
            "regularization" => self.regularization = Some(number()?),
            "least" => self.least = value.parse().map_err(|_| wrong("a whole number"))?,
            "weights" => {
                let weights = value.parse().map_err(|error| said(name, value, &error))?;
                self.weights = Some(weights);
            }
            "targets" => {
                let targets = value.parse().map_err(|error| said(name, value, &error))?;
                self.targets = Some(targets);
            }
            "confidence" => {
                self.confidence = value.parse().map_err(|error| said(name, value, &error))?;
            }
            "dense" => {
                // An array is dense whatever is said.
                let is_array = is_array(&self.file);
                if yes_or_no(value).ok_or_else(|| wrong("yes or no"))? {
                    self.features.get_or_insert_default();
                } else if is_array {
                    return Err(wrong("yes, because the file is an array"));
                }
            }
            "header" => {
                self.header = Some(yes_or_no(value).ok_or_else(|| wrong("yes or no"))?);
            }
            "ids" => self.features_of(name)?.ids = Some(value.to_owned()),
            "scale" => {
                self.features_of(name)?.scaling = match value {
                    "together" => Scaling::Together,
                    "columns" => Scaling::Columns,
                    "none" => Scaling::Unscaled,
                    _ => return Err(wrong("together, columns or none")),
                };
            }
            _ => {
                self.types.context = yes_or_no(value).ok_or_else(|| wrong("yes or no"))?;
            }
        }
        Ok(())
    }

    fn features_of(&mut self, name: &str) -> Result<&mut FeatureSpec, RelationTextError> {
        let message =
            format!("{name} is for features: a .npy array, or a table with dense=yes before it");
        self.features.as_mut().ok_or_else(|| wrong(message))
    }
}

/// Whether a file holds one array of numbers.
fn is_array(file: &str) -> bool {
    let extension = std::path::Path::new(file).extension();
    extension.is_some_and(|extension| extension.eq_ignore_ascii_case("npy"))
}

fn yes_or_no(value: &str) -> Option<bool> {
    match value {
        "yes" => Some(true),
        "no" => Some(false),
        _ => None,
    }
}

fn wrong(text: impl Into<String>) -> RelationTextError {
    RelationTextError(text.into())
}

fn said(name: &str, value: &str, error: &dyn fmt::Display) -> RelationTextError {
    wrong(format!("{name}={value}: {error}"))
}

impl FromStr for RelationSpec {
    type Err = RelationTextError;

    fn from_str(text: &str) -> Result<Self, RelationTextError> {
        let form = "expected TYPE-TYPE:FILE, as in items-tags:tags.csv,strength=0.3";
        let (types, rest) = text.split_once(':').ok_or_else(|| wrong(form))?;
        let (first, second) = types.split_once('-').ok_or_else(|| wrong(form))?;
        let is_name = |name: &str| !name.is_empty() && !name.contains(['-', ',', ' ', '=']);
        if !is_name(first) || !is_name(second) {
            return Err(wrong(form));
        }
        let mut pieces = rest.split(',');
        let file = pieces.next().filter(|file| !file.is_empty());
        let mut spec = Self::new(first, second, file.ok_or_else(|| wrong(form))?);
        let mut options: Vec<(&str, String)> = Vec::new();
        for piece in pieces {
            let named = piece
                .split_once('=')
                .filter(|(name, _)| OPTIONS.contains(name));
            match (named, options.last_mut()) {
                (Some((name, value)), _) => options.push((name, value.to_owned())),
                (None, Some((_, value))) => {
                    value.push(',');
                    value.push_str(piece);
                }
                (None, None) => {
                    let known = OPTIONS.join(", ");
                    return Err(wrong(format!("{piece}: expected an option of {known}")));
                }
            }
        }
        for (at, (name, value)) in options.iter().enumerate() {
            if options[..at].iter().any(|(before, _)| before == name) {
                return Err(wrong(format!("{name} is given twice")));
            }
            spec.set(name, value)?;
        }
        let given = |name: &&&str| options.iter().any(|(given, _)| given == *name);
        if let (Some(_), Some(name)) = (&spec.features, OF_ENTRIES.iter().find(given)) {
            return Err(wrong(format!(
                "{name} has no effect on features, all of whose entries are observed; leave it out"
            )));
        }
        Ok(spec)
    }
}

impl fmt::Display for RelationSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usual = Self::new(&self.types.first, &self.types.second, &self.file);
        write!(
            f,
            "{}:{},strength={}",
            self.types.name(),
            self.file,
            self.strength()
        )?;
        if let Some(features) = &self.features {
            if usual.features.is_none() {
                f.write_str(",dense=yes")?;
            }
            if let Some(ids) = &features.ids {
                write!(f, ",ids={ids}")?;
            }
            match features.scaling {
                Scaling::Together => {}
                Scaling::Columns => f.write_str(",scale=columns")?,
                Scaling::Unscaled => f.write_str(",scale=none")?,
            }
        }
        if let Some(header) = self.header {
            f.write_str(if header { ",header=yes" } else { ",header=no" })?;
        }
        if self.types.context {
            f.write_str(",context=yes")?;
        }
        if self.least != usual.least {
            write!(f, ",least={}", self.least)?;
        }
        if let Some(regularization) = self.regularization {
            write!(f, ",regularization={regularization}")?;
        }
        if self.targets() != usual.targets() {
            write!(f, ",targets={}", self.targets())?;
        }
        if self.confidence != usual.confidence {
            write!(f, ",confidence={}", self.confidence)?;
        }
        match self.features {
            Some(_) => Ok(()),
            None => write!(f, ",weights={}", self.weights()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relations_are_written_as_they_are_read() {
        for text in [
            "items-tags:tags.csv,strength=0.3,weights=uniform:0.02",
            "users-users:friends.csv,strength=1,context=yes,weights=uniform:0.1",
            "items-words:w.csv,strength=0.5,least=5,regularization=0.01,targets=normalized:0.1,0.2,\
             confidence=log:2,0.5,weights=popularity:mean=0.1,alpha=0.4",
            "items-vectors:v.npy,strength=0.5,ids=names.txt,scale=columns",
            "items-numbers:n.csv,strength=2,dense=yes,header=no,regularization=0.1",
            "items-tags:tags.csv,strength=2,header=yes,weights=uniform:0.02",
        ] {
            let spec: RelationSpec = text.parse().expect("a relation");
            assert_eq!(spec.to_string(), text);
        }
        let short: RelationSpec = "items-tags:t.csv".parse().expect("a relation");
        assert_eq!(short, RelationSpec::new("items", "tags", "t.csv"));
        assert_eq!(short.to_string().parse(), Ok(short.clone()));
        // What is not given is written with its default.
        let written = "items-tags:t.csv,strength=0.5,weights=uniform:0.02";
        assert_eq!(short.to_string(), written);
    }

    #[test]
    fn other_texts_are_refused() {
        for (text, part) in [
            ("tags.csv", "TYPE-TYPE:FILE"),
            ("items-tags:", "TYPE-TYPE:FILE"),
            ("items:tags.csv", "TYPE-TYPE:FILE"),
            ("items-tags-x:t.csv", "TYPE-TYPE:FILE"),
            ("items-tags:t.csv,strong=1", "strength"),
            ("items-tags:t.csv,strength=-1", "at least 0"),
            ("items-tags:t.csv,strength=nan", "at least 0"),
            ("items-tags:t.csv,strength=1,strength=2", "twice"),
            ("items-tags:t.csv,context=maybe", "yes or no"),
            ("items-tags:t.csv,dense=maybe", "yes or no"),
            ("items-tags:t.npy,dense=no", "an array"),
            ("items-tags:t.csv,header=first", "yes or no"),
            ("items-tags:t.csv,ids=i.txt", "dense=yes"),
            ("items-tags:t.npy,scale=tall", "together"),
            (
                "items-tags:t.npy,weights=uniform:1",
                "no effect on features",
            ),
            (
                "items-tags:t.csv,dense=yes,least=5",
                "no effect on features",
            ),
            ("items-tags:t.csv,weights=unfirm:1", "weights=unfirm:1"),
        ] {
            let error = text.parse::<RelationSpec>().expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
