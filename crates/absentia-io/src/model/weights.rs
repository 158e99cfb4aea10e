//! Weights on missing entries: A and B as tensors, what they were made from as text.

use std::path::Path;

use absentia::weights::{Frozen, MissingWeights};

use super::error::ModelFileError;
use super::opened::Opened;
use super::tensor::Tensor;
use crate::error::Error;

const A: &str = "user_weights";
const B: &str = "item_weights";
/// Key of the text in the header, and name of the tensor that holds it when it is long.
pub(super) const FROZEN: &str = "weights";
/// Groups name the segment of every user; a text longer than this would crowd the header.
const LONGEST_TEXT: usize = 1 << 20;

/// What the weights were made from, as text.
pub(super) fn text(weights: &MissingWeights, path: &Path) -> Result<String, Error> {
    super::save::text_of(weights.frozen(), "weights on missing entries", path)
}

/// Whether the text goes into the header rather than a tensor.
pub(super) fn is_short(text: &str) -> bool {
    text.len() <= LONGEST_TEXT
}

pub(super) fn tensors<'a>(weights: &'a MissingWeights, text: &'a str) -> Vec<Tensor<'a>> {
    let mut tensors = vec![Tensor::rows(A, weights.a()), Tensor::rows(B, weights.b())];
    if !is_short(text) {
        tensors.push(Tensor::list(FROZEN, text.as_bytes()));
    }
    tensors
}

pub(super) fn load(opened: &Opened) -> Result<MissingWeights, Error> {
    let (a, b) = (opened.dense(A)?, opened.dense(B)?);
    MissingWeights::from_parts(a, b, load_frozen(opened)?).map_err(|source| {
        ModelFileError::Weights {
            path: opened.path.clone(),
            source,
        }
        .into()
    })
}

fn load_frozen(opened: &Opened) -> Result<Frozen, Error> {
    if let Some(text) = opened.header.text(FROZEN) {
        return opened.parsed(FROZEN, text);
    }
    let bytes = opened.list::<u8>(FROZEN)?;
    let text = std::str::from_utf8(&bytes).map_err(|e| opened.corrupt(e))?;
    opened.parsed(FROZEN, text)
}

/// Number of components Z, from the header alone.
pub(super) fn rank(header: &super::header::ModelHeader) -> Option<usize> {
    header
        .tensor(A)
        .and_then(|(info, _)| info.shape.get(1).copied())
}
