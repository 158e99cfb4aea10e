//! Reads ahead, parses in parallel and takes results in file order.
//!
//! While one batch of blocks is parsed on all threads and merged, the next is being read. The result
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
    let mut batch = read_batch(&mut blocks, 1);
    while !batch.blocks.is_empty() {
        let current = std::mem::take(&mut batch.blocks);
        let more = batch.end.is_none();
        let (next, merged) = rayon::join(
            || more.then(|| read_batch(&mut blocks, width)),
            || merge(current, &parse, builder),
        );
        merged?;
        if let Some(next) = next {
            batch = next;
        }
    }
    batch.end.unwrap_or(Ok(()))
}

/// Blocks read together, and how the source ended if it did.
struct BlockBatch<B> {
    blocks: Vec<B>,
    end: Option<Result<(), Error>>,
}

/// Reads up to `width` blocks; those before a failure still count, so that the first error in the file wins.
fn read_batch<B: Blocks>(source: &mut B, width: usize) -> BlockBatch<B::Block> {
    let mut blocks = Vec::with_capacity(width);
    let mut end = None;
    while blocks.len() < width && end.is_none() {
        match source.next_block() {
            Ok(Some(block)) => blocks.push(block),
            Ok(None) => end = Some(Ok(())),
            Err(error) => end = Some(Err(error)),
        }
    }
    BlockBatch { blocks, end }
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
