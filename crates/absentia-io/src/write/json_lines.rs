//! One JSON object a line; ids are numbers where all of them are integers, and text otherwise.

use std::io::{self, Write};

use super::sink::Sink;
use crate::dataset::Dataset;
use crate::error::Error;

pub(super) fn write(data: &Dataset, sink: Sink) -> Result<(), Error> {
    sink.fill(|out| (0..data.len()).try_for_each(|row| write_row(out, data, row)))
}

fn write_row(out: &mut Sink, data: &Dataset, row: usize) -> io::Result<()> {
    out.write_all(b"{\"user\":")?;
    serde_json::to_writer(&mut *out, &data.users.id(data.user[row]))?;
    out.write_all(b",\"item\":")?;
    serde_json::to_writer(&mut *out, &data.items.id(data.item[row]))?;
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
