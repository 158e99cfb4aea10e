//! Reads ahead, parses in parallel and takes results in file order.
//!
//! While one batch of blocks is parsed on all threads and merged, the next is being read. What comes out
//! depends on the order of blocks only, never on the number of threads.

use rayon::prelude::*;

use super::builder::Builder;
use super::chunk::Chunk;
use crate::error::Error;

/// A source of blocks that can be parsed independently.
pub(super) trait Blocks: Send {
    /// A part of the file.
    type Block: Send + Sync;

    /// The next part, `None` at the end.
    fn next_block(&mut self) -> Result<Option<Self::Block>, Error>;
}

/// Parses every block and adds the results to `builder` in order.
pub(super) fn run<B: Blocks>(
    mut blocks: B,
    parse: impl Fn(&B::Block) -> Result<Chunk, Error> + Sync,
    builder: &mut Builder<'_>,
) -> Result<(), Error> {
    let width = rayon::current_num_threads() + 1;
    let mut batch = read_batch(&mut blocks, 1)?;
    while !batch.is_empty() {
        let (next, merged) = rayon::join(
            || read_batch(&mut blocks, width),
            || merge(batch, &parse, builder),
        );
        merged?;
        batch = next?;
    }
    Ok(())
}

fn read_batch<B: Blocks>(blocks: &mut B, width: usize) -> Result<Vec<B::Block>, Error> {
    let mut batch = Vec::with_capacity(width);
    while batch.len() < width
        && let Some(block) = blocks.next_block()?
    {
        batch.push(block);
    }
    Ok(batch)
}

fn merge<B: Send + Sync>(
    batch: Vec<B>,
    parse: &(impl Fn(&B) -> Result<Chunk, Error> + Sync),
    builder: &mut Builder<'_>,
) -> Result<(), Error> {
    let chunks: Vec<_> = batch.into_par_iter().map(|block| parse(&block)).collect();
    chunks
        .into_iter()
        .try_for_each(|chunk| builder.merge(chunk?))
}
