//! What an `itemknn` model has instead of factors.

use std::sync::Arc;

use absentia::baselines::Neighbours;

use super::error::ModelFileError;
use super::opened::Opened;
use super::tensor::Tensor;
use crate::error::Error;

const TAKEN: [&str; 2] = ["taken_offsets", "taken_items"];
const NEAR: [&str; 3] = ["near_offsets", "near_items", "near_similarity"];

pub(super) fn tensors(neighbours: &Neighbours) -> [Tensor<'_>; 5] {
    let ((taken_offsets, taken), (offsets, near, similarity)) =
        (neighbours.taken(), neighbours.neighbours());
    [
        Tensor::list(TAKEN[0], taken_offsets),
        Tensor::list(TAKEN[1], taken),
        Tensor::list(NEAR[0], offsets),
        Tensor::list(NEAR[1], near),
        Tensor::list(NEAR[2], similarity),
    ]
}

/// The neighbours of a file that has some.
pub(super) fn load(opened: &Opened) -> Result<Option<Arc<Neighbours>>, Error> {
    if opened.header.tensor(NEAR[0]).is_none() {
        return Ok(None);
    }
    let taken = (
        opened.list::<u64>(TAKEN[0])?.to_vec(),
        opened.list::<u32>(TAKEN[1])?.to_vec(),
    );
    let near = (
        opened.list::<u64>(NEAR[0])?.to_vec(),
        opened.list::<u32>(NEAR[1])?.to_vec(),
    );
    let similarity = opened.list::<f32>(NEAR[2])?.to_vec();
    let neighbours = Neighbours::from_parts(taken, near, similarity);
    let neighbours = neighbours.map_err(|source| ModelFileError::Neighbours {
        path: opened.path.clone(),
        source,
    })?;
    Ok(Some(Arc::new(neighbours)))
}
