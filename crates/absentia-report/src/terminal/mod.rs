//! Everything the commands draw on a terminal: numbers, tables, plots and progress bars.
//!
//! All of it is plain data in, text out; only [`Progress`] writes by itself, and only to stderr.
//!
//! ```
//! use absentia_report::terminal::{Cell, Column, Screen, Table};
//!
//! let mut table = Table::new([Column::left("weights"), Column::right("ndcg@10").highest_is_best()]);
//! table.row([Cell::text("uniform:0.01"), Cell::mean(0.1712, 0.0021)]);
//! table.row([Cell::text("popularity"), Cell::mean(0.1834, 0.0022)]);
//! let text = table.render(&Screen::plain());
//! assert!(text.contains("0.1834 ± 0.0022"));
//! ```

mod canvas;
mod plot;
mod progress;
mod screen;
mod sparkline;
mod table;

pub use plot::{LinePlot, long_tail};
pub use progress::{Bar, Progress, TrainingBar};
pub use screen::{Paint, Screen};
pub use sparkline::sparkline;
pub use table::{Align, Cell, Column, Table, key_values};
