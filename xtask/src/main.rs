//! Tasks.
fn main(){}
