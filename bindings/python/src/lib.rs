//! The Python module `absentia._core`: arguments in, the GIL released, errors as exceptions.
//!
//! Nothing is computed here. Each class wraps one Rust type; the estimators are plain Python beside
//! it, in `python/absentia`.
#![allow(
    clippy::needless_pass_by_value,
    reason = "arguments come from Python by value"
)]

mod columns;
mod command;
mod data;
mod dataset;
mod error;
mod evaluate;
mod factors;
mod folding;
mod gate;
mod ids;
mod job;
mod lists;
mod model;
mod notices;
mod online;
mod part_reader;
mod places;
mod pool;
mod rule;
mod shard_worker;
mod shared_run;
mod split;
mod train;
mod weights;

use absentia::InstructionSet;
use pyo3::prelude::*;

use error::OrRaise;

/// The engine of Absentia, wrapped; use the package `absentia` instead.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    InstructionSet::select_from_env().or_raise()?;
    absentia_io::hide_panics_of_decoders();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<dataset::Dataset>()?;
    module.add_class::<factors::Factors>()?;
    module.add_class::<ids::IdMap>()?;
    module.add_class::<model::Model>()?;
    module.add_class::<online::Online>()?;
    module.add_class::<part_reader::PartReader>()?;
    module.add_class::<shard_worker::ShardWorker>()?;
    module.add_class::<shared_run::SharedRun>()?;
    module.add(
        "LostWorkers",
        module.py().get_type::<shared_run::LostWorkers>(),
    )?;
    module.add_class::<weights::MissingWeights>()?;
    module.add_class::<weights::Scheme>()?;
    module.add_function(wrap_pyfunction!(columns::table_columns, module)?)?;
    module.add_function(wrap_pyfunction!(command::run_command, module)?)?;
    module.add_function(wrap_pyfunction!(evaluate::evaluate, module)?)?;
    module.add_function(wrap_pyfunction!(factors::solve_rows, module)?)?;
    module.add_function(wrap_pyfunction!(folding::fold_in_related, module)?)?;
    module.add_function(wrap_pyfunction!(places::places_of_texts, module)?)?;
    module.add_function(wrap_pyfunction!(places::places_in_arrow, module)?)?;
    module.add_function(wrap_pyfunction!(job::default_metrics, module)?)?;
    module.add_function(wrap_pyfunction!(job::default_of, module)?)?;
    module.add_function(wrap_pyfunction!(job::default_settings, module)?)?;
    module.add_function(wrap_pyfunction!(job::job_of_file, module)?)?;
    module.add_function(wrap_pyfunction!(job::setting_names, module)?)?;
    module.add_function(wrap_pyfunction!(factors::top_k, module)?)?;
    module.add_function(wrap_pyfunction!(dataset::prepare, module)?)?;
    module.add_function(wrap_pyfunction!(split::split, module)?)?;
    module.add_function(wrap_pyfunction!(train::fit, module)?)?;
    module.add_function(wrap_pyfunction!(weights::dates, module)?)?;
    module.add_function(wrap_pyfunction!(weights::weights_text, module)?)?;
    module.add_function(wrap_pyfunction!(part_reader::borders_of, module)?)?;
    module.add_function(wrap_pyfunction!(part_reader::divided, module)?)?;
    module.add_function(wrap_pyfunction!(part_reader::merged_sum, module)?)?;
    module.add_function(wrap_pyfunction!(part_reader::why_not_spread, module)?)?;
    let close = wrap_pyfunction!(gate::close, module)?;
    module
        .py()
        .import("atexit")?
        .call_method1("register", (close,))?;
    Ok(())
}
