//! The model file: what is saved comes back, and nothing else is taken for a model.
#![allow(missing_docs, clippy::unwrap_used)]

mod build;
mod damage;
mod exchange;
mod full_disk;
mod hostile;
mod old;
mod python;
mod related;
mod resume;
mod round_trip;
