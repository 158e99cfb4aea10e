//! How results are shown: numbers as text, tables and plots in a terminal, reports as HTML pages.

pub mod format;
pub mod html;
mod scale;
pub mod terminal;
