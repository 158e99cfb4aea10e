//! One JSON object a line; ids are always text, so that none changes its spelling.

use std::io::{self, Write};

use super::sink::Sink;
use crate::dataset::Dataset;
use crate::error::Error;

pub(super) fn write(data: &Dataset, sink: Sink) -> Result<(), Error> {
    sink.fill(|out| (0..data.len()).try_for_each(|row| write_row(out, data, row)))
}

fn write_row(out: &mut Sink, data: &Dataset, row: usize) -> io::Result<()> {
    out.write_all(b"{\"user\":")?;
    serde_json::to_writer(
        &mut *out,
        &data.users.name(data.user[row]).unwrap_or_default(),
    )?;
    out.write_all(b",\"item\":")?;
    serde_json::to_writer(
        &mut *out,
        &data.items.name(data.item[row]).unwrap_or_default(),
    )?;
    if let Some(value) = &data.value {
        write!(out, ",\"rating\":{}", value[row])?;
    }
    if let Some(time) = &data.time {
        write!(out, ",\"time\":{}", time[row])?;
    }
    if let Some(weight) = &data.weight {
        write!(out, ",\"weight\":{}", weight[row])?;
    }
    out.write_all(b"}\n")
}
