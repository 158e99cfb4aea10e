//! Arrow IPC files and streams.

use std::cell::Cell;
use std::fs::File;
use std::io::BufReader;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::ArrowError;

use super::arrow_check;
use super::arrow_columns::{ArrowBatch, ArrowLayout};
use super::builder::Builder;
use super::options::ReadOptions;
use super::pipeline::{self, Blocks};
use crate::error::Error;
use crate::seal::{self, Check};

const FORMAT: &str = "Arrow file";

/// Reads an Arrow IPC file.
pub(super) fn read_file(
    path: &Arc<Path>,
    options: &ReadOptions,
    builder: &mut Builder<'_>,
) -> Result<(), Error> {
    check(path, arrow_check::check_file)?;
    let open = || FileReader::try_new(BufReader::new(File::open(path)?), None);
    let whole = guarded(path, FORMAT, open)?;
    let schema = whole.schema();
    let seal = whole.custom_metadata().get(seal::KEY);
    let check = seal.map(|text| Check::new(text, &schema)).transpose();
    let check = check.map_err(|detail| Error::corrupt(path, FORMAT, detail))?;
    let layout = ArrowLayout::new(&schema, options, path, FORMAT)?;
    let open = || FileReader::try_new(BufReader::new(File::open(path)?), Some(layout.places()));
    let reader = guarded(path, FORMAT, open)?;
    run(reader, check, &layout, path, builder)
}

/// Reads an Arrow IPC stream.
pub(super) fn read_stream(
    path: &Arc<Path>,
    options: &ReadOptions,
    builder: &mut Builder<'_>,
) -> Result<(), Error> {
    check(path, arrow_check::check_stream)?;
    let open = || StreamReader::try_new(BufReader::new(File::open(path)?), None);
    let schema = guarded(path, FORMAT, open)?.schema();
    let layout = ArrowLayout::new(&schema, options, path, FORMAT)?;
    let open = || StreamReader::try_new(BufReader::new(File::open(path)?), Some(layout.places()));
    let reader = guarded(path, FORMAT, open)?;
    run(reader, None, &layout, path, builder)
}

fn check(path: &Path, look: impl FnOnce(File) -> Result<(), String>) -> Result<(), Error> {
    let file = File::open(path).map_err(Error::io(path))?;
    guarded(path, FORMAT, || look(file))
}

fn run(
    reader: impl Iterator<Item = Result<RecordBatch, ArrowError>> + Send,
    check: Option<Check>,
    layout: &ArrowLayout,
    path: &Arc<Path>,
    builder: &mut Builder<'_>,
) -> Result<(), Error> {
    let bytes = path.metadata().map_err(Error::io(path))?.len();
    builder.report_columns(&layout.found);
    let batches = Batches {
        reader,
        check,
        path: Arc::clone(path),
        format: FORMAT,
        next_row: 1,
        first_bytes: bytes,
        per_row: 0.0,
    };
    pipeline::run(batches, |batch| layout.parse_guarded(batch), builder)
}

/// Record batches from any reader, as blocks.
pub(super) struct Batches<R> {
    pub(super) reader: R,
    /// The checksums that the batches must have.
    pub(super) check: Option<Check>,
    pub(super) path: Arc<Path>,
    pub(super) format: &'static str,
    pub(super) next_row: u64,
    /// Bytes of the file counted with the first batch.
    pub(super) first_bytes: u64,
    /// Bytes of the file counted with each row.
    pub(super) per_row: f64,
}

impl<R: Iterator<Item = Result<RecordBatch, ArrowError>> + Send> Blocks for Batches<R> {
    type Block = ArrowBatch;

    fn next_block(&mut self) -> Result<Option<ArrowBatch>, Error> {
        let reader = &mut self.reader;
        let Some(batch) = guarded(&self.path, self.format, || reader.next().transpose())? else {
            let check = self.check.as_ref().map_or(Ok(()), Check::finish);
            check.map_err(|detail| Error::corrupt(&self.path, self.format, detail))?;
            return Ok(None);
        };
        if let Some(check) = &mut self.check {
            guarded(&self.path, self.format, || {
                check.add(&batch);
                Ok::<_, String>(())
            })?;
        }
        let first_row = self.next_row;
        self.next_row += batch.num_rows() as u64;
        let bytes =
            std::mem::take(&mut self.first_bytes) + (self.per_row * batch.num_rows() as f64) as u64;
        Ok(Some(ArrowBatch {
            columns: batch,
            first_row,
            bytes,
        }))
    }
}

thread_local! {
    static DECODING: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is inside a decoder whose panics become errors: a panic hook has nothing to say
/// of them.
#[must_use]
pub fn is_decoding() -> bool {
    DECODING.get()
}

/// Shows panics as ever, but for those of decoders, which are reported as a damaged file. A program calls it
/// once, at its start.
pub fn hide_panics_of_decoders() {
    let show = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !is_decoding() {
            show(panic);
        }
    }));
}

/// Calls into a decoder that panics on some damaged files, and turns that into an error like any other.
pub(super) fn guarded<T, E: ToString>(
    path: &Path,
    format: &'static str,
    call: impl FnOnce() -> Result<T, E>,
) -> Result<T, Error> {
    let before = DECODING.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(call));
    DECODING.set(before);
    match outcome {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(Error::corrupt(path, format, error.to_string())),
        Err(_) => Err(Error::corrupt(
            path,
            format,
            "its parts do not fit together",
        )),
    }
}
