//! The history of a run as a table of `f64`, which keeps every bit and is easy to read in Python.
//!
//! JSON would do neither: it cannot hold NaN, and a long run would outgrow the header.

use absentia::Objective;
use absentia::fit::{Best, Sweep};

use super::opened::Opened;
use super::tensor::Tensor;
use crate::error::Error;

/// Columns: iteration, observed, missing, regularization, seconds (0: they are not kept), measured (0 or 1),
/// validation.
pub(super) const HISTORY: &str = "history";
const COLUMNS: usize = 7;
/// Columns: iteration, score.
pub(super) const BEST: &str = "best";
/// Integers up to here are exact in `f64`.
const MAX_ITERATION: f64 = (1_u64 << 53) as f64;

/// The sweeps of a finished model; their seconds are left out, so that equal runs give equal files.
pub(super) fn tensor<'a>(history: &[Sweep]) -> Tensor<'a> {
    let timeless = history.iter().map(|sweep| Sweep {
        seconds: 0.0,
        ..sweep.clone()
    });
    let rows: Vec<f64> = timeless.flat_map(|sweep| row(&sweep)).collect();
    Tensor::table(HISTORY, COLUMNS, &rows)
}

fn row(sweep: &Sweep) -> [f64; COLUMNS] {
    let Objective {
        observed,
        missing,
        regularization,
    } = sweep.objective;
    [
        sweep.iteration as f64,
        observed,
        missing,
        regularization,
        sweep.seconds,
        f64::from(u8::from(sweep.validation.is_some())),
        sweep.validation.unwrap_or_default(),
    ]
}

pub(super) fn best_tensor<'a>(best: &Best) -> Tensor<'a> {
    Tensor::table(BEST, 2, &[best.iteration as f64, best.score])
}

pub(super) fn load(opened: &Opened) -> Result<Vec<Sweep>, Error> {
    let (numbers, _, cols) = opened.table::<f64>(HISTORY)?;
    sweeps(&numbers, cols).ok_or_else(|| opened.corrupt("its history is not a list of sweeps"))
}

/// Turns the table back into sweeps, or `None` if it is not one.
pub(super) fn sweeps(numbers: &[f64], cols: usize) -> Option<Vec<Sweep>> {
    if cols != COLUMNS {
        return None;
    }
    let rows = numbers.chunks_exact(COLUMNS);
    rows.map(|row| {
        let &[
            iteration,
            observed,
            missing,
            regularization,
            seconds,
            measured,
            validation,
        ] = row
        else {
            return None;
        };
        Some(Sweep {
            iteration: whole(iteration)?,
            objective: Objective {
                observed,
                missing,
                regularization,
            },
            seconds,
            validation: (whole(measured)? == 1).then_some(validation),
        })
    })
    .collect()
}

/// Reads the iteration and score of the best factors, or `None` if the table has another form.
pub(super) fn best(numbers: &[f64]) -> Option<(usize, f64)> {
    match *numbers {
        [iteration, score] => Some((whole(iteration)?, score)),
        _ => None,
    }
}

fn whole(number: f64) -> Option<usize> {
    let fits = number.fract().to_bits() == 0 && (0.0..=MAX_ITERATION).contains(&number);
    fits.then_some(number as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_json_cannot_hold_come_back() {
        let sweep = |iteration, validation| Sweep {
            iteration,
            objective: Objective::default(),
            seconds: 0.1,
            validation,
        };
        let history = [
            sweep(1, None),
            sweep(2, Some(f64::NAN)),
            sweep(3, Some(f64::NEG_INFINITY)),
        ];
        let numbers: Vec<f64> = history.iter().flat_map(row).collect();
        let back = sweeps(&numbers, COLUMNS).unwrap();
        assert_eq!(back[0], history[0]);
        assert!(back[1].validation.unwrap().is_nan());
        assert_eq!(back[2], history[2]);
    }

    #[test]
    fn tables_that_are_no_history_are_refused() {
        assert!(sweeps(&[0.0; 6], 6).is_none());
        assert!(sweeps(&[0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], 7).is_none());
        assert!(sweeps(&[f64::NAN, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], 7).is_none());
        assert!(best(&[-1.0, 0.0]).is_none());
        assert!(best(&[1.0]).is_none());
    }
}
