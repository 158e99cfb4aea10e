//! The post-scaling that gives trained factors the best score: nothing is trained again.

use crate::error::SearchError;

/// Post-scaling exponents ρ that are considered, by counts of all rows and by recent counts: what is taken now can
/// matter more than who takes it.
const RANGE: (f64, f64) = (-0.3, 1.2);
const RECENT_RANGE: (f64, f64) = (-0.3, 2.0);

/// Step sizes of the search for ρ: it starts with the first and halves it down to the last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct StepSizes {
    first: f64,
    last: f64,
}

impl StepSizes {
    /// For a guess that may be far off.
    pub(crate) const WIDE: Self = Self {
        first: 0.15,
        last: 0.06,
    };
    /// For a guess from a similar model.
    pub(crate) const MEDIUM: Self = Self {
        first: 0.075,
        last: 0.06,
    };
    /// For a guess from the same model, measured on fewer users.
    pub(crate) const FINE: Self = Self {
        first: 0.04,
        last: 0.03,
    };
}

/// How a trial gets its post-scaling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum PostScaling {
    /// It is given.
    Fixed(f32),
    /// The best one is searched near a guess.
    Search {
        /// Where the search starts.
        guess: f32,
        /// How far it looks.
        steps: StepSizes,
        /// Whether the result is refined on the second sample of users.
        refine: bool,
    },
}

/// Finds the best post-scaling near a guess by steps that get smaller; counts have a half-life or have none.
pub(crate) fn best_post_scale(
    (guess, half_life): (f32, Option<f64>),
    steps: StepSizes,
    score_of: impl Fn(f32) -> Result<f64, SearchError>,
) -> Result<f32, SearchError> {
    let (least, most) = half_life.map_or(RANGE, |_| RECENT_RANGE);
    let mut measured: Vec<(f64, f64)> = Vec::new();
    let mut score = |rho: f64| -> Result<f64, SearchError> {
        if let Some((_, known)) = measured.iter().find(|(at, _)| (at - rho).abs() < 1e-6) {
            return Ok(*known);
        }
        let score = score_of(rho as f32)?;
        measured.push((rho, score));
        Ok(score)
    };
    let mut best = f64::from(guess).clamp(least, most);
    let mut step = steps.first;
    while step >= steps.last {
        let here = score(best)?;
        let neighbours = [best + step, best - step];
        let mut moved = false;
        for neighbour in neighbours
            .into_iter()
            .filter(|rho| (least..=most).contains(rho))
        {
            if score(neighbour)? > here {
                (best, moved) = (neighbour, true);
                break;
            }
        }
        if !moved {
            step /= 2.0;
        }
    }
    Ok(((best * 100.0).round() / 100.0) as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_top_of_a_hill_is_found_from_either_side() {
        for guess in [-0.2_f32, 0.5, 1.1] {
            let hill = |rho: f32| Ok(-(f64::from(rho) - 0.4).powi(2));
            let best = best_post_scale((guess, None), StepSizes::WIDE, hill).unwrap();
            assert!((best - 0.4).abs() < 0.08, "{best} from {guess}");
        }
    }

    #[test]
    fn recent_counts_may_have_a_larger_exponent() {
        let best = |half_life| {
            let slope = |rho: f32| Ok(f64::from(rho));
            best_post_scale((0.9, half_life), StepSizes::WIDE, slope).unwrap()
        };
        assert!(best(None) <= 1.2 && best(Some(7.0)) > 1.9);
    }
}
