//! What `absentia evaluate` says of a model.

use std::process::Command;

use serde_json::{Value, json};

use super::printed;

/// A figure with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Estimate {
    pub(super) value: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// How far a model is from another, user by user.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Difference {
    pub(super) by: Estimate,
    pub(super) p: f64,
}

/// The figures of a model.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Figures {
    pub(super) recall: Estimate,
    pub(super) ndcg: Estimate,
    /// In recall, to the model it was measured against.
    pub(super) difference: Option<Difference>,
    pub(super) users: u64,
}

/// Recall@20 and NDCG@20, by a command that `Set::evaluate` began.
pub(super) fn measured(mut evaluate: Command) -> Result<Figures, String> {
    evaluate.args(["--at", "20", "--metrics", "recall,ndcg", "--json"]);
    let (text, _) = printed(&mut evaluate)?;
    figures(&text).ok_or_else(|| format!("no figures in: {text}"))
}

fn figures(text: &str) -> Option<Figures> {
    let said: Value = serde_json::from_str(text.trim()).ok()?;
    let estimate = |metric: &str| {
        let interval = &said["intervals"][metric];
        Some(Estimate {
            value: said[metric].as_f64()?,
            low: interval[0].as_f64()?,
            high: interval[1].as_f64()?,
        })
    };
    let difference = match &said["difference"]["recall@20"] {
        Value::Null => None,
        found => Some(Difference {
            by: Estimate {
                value: found["difference"].as_f64()?,
                low: found["low"].as_f64()?,
                high: found["high"].as_f64()?,
            },
            p: found["p"].as_f64()?,
        }),
    };
    Some(Figures {
        recall: estimate("recall@20")?,
        ndcg: estimate("ndcg@20")?,
        difference,
        users: said["users"].as_u64()?,
    })
}

impl Estimate {
    fn json(self) -> Value {
        json!({"value": self.value, "low": self.low, "high": self.high})
    }
}

impl Figures {
    pub(super) fn json(&self) -> Value {
        let difference = self.difference.map(|found| {
            let mut value = found.by.json();
            value["p"] = found.p.into();
            value
        });
        json!({
            "recall@20": self.recall.json(),
            "ndcg@20": self.ndcg.json(),
            "recall@20 over tuned uniform": difference,
            "users": self.users,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALONE: &str = r#"{"intervals":{"ndcg@20":[0.01,0.03],"recall@20":[0.05,0.07]},
        "ndcg@20":0.02,"recall@20":0.06,"users":1000}
"#;

    #[test]
    fn figures_are_read_with_their_intervals() {
        let found = figures(ALONE).unwrap();
        let estimate = |value, low, high| Estimate { value, low, high };
        assert_eq!(found.recall, estimate(0.06, 0.05, 0.07));
        assert_eq!(found.ndcg, estimate(0.02, 0.01, 0.03));
        assert_eq!((found.difference, found.users), (None, 1000));
    }

    #[test]
    fn the_difference_is_that_of_recall_and_not_the_other_models_figure() {
        let text = r#"{"difference":{"ndcg@20":{"difference":9,"high":9,"low":9,"p":9},
            "recall@20":{"difference":0.03,"high":0.04,"low":0.02,"p":0.001}},
            "intervals":{"ndcg@20":[0.01,0.03],"recall@20":[0.05,0.07]},"ndcg@20":0.02,
            "other":{"recall@20":0.5},"recall@20":0.06,"users":7}"#;
        let found = figures(text).unwrap();
        let by = Estimate {
            value: 0.03,
            low: 0.02,
            high: 0.04,
        };
        assert_eq!(found.difference, Some(Difference { by, p: 0.001 }));
        assert!((found.recall.value - 0.06).abs() < 1e-12);
        assert_eq!(found.json()["recall@20 over tuned uniform"]["p"], 0.001);
    }

    #[test]
    fn what_has_no_figures_is_no_figure() {
        assert_eq!(figures("error: no such file"), None);
        assert_eq!(figures(&ALONE.replace("intervals", "other")), None);
    }
}
