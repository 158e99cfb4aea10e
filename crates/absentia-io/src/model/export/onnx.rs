//! A scorer for ONNX runtimes: rows of users in, scores of all items and the best of them out.
//!
//! | input | | output | |
//! | --- | --- | --- | --- |
//! | `user` | i64 (B), rows of `users.txt` | `scores` | f32 (B, N), of every item |
//! | `k` | i64 (1), length of the lists | `items` | i64 (B, k), rows of `items.txt`, the best first |
//! | | | `top_scores` | f32 (B, k) |
//!
//! The file is a protocol buffer; its few messages are encoded here, by the numbers of their fields in
//! `onnx.proto`.

use std::io::{self, Write};
use std::path::Path;

use super::vectors::Vectors;
use crate::atomic::AtomicFile;
use crate::error::Error;
use crate::model::ModelFileError;

/// Version of the file format, and of the operators.
const IR_VERSION: u64 = 8;
const OPERATORS: u64 = 13;
/// Types of numbers.
const FLOAT: u64 = 1;
const INT64: u64 = 7;
/// Type of an attribute that is a whole number.
const ATTRIBUTE_INT: u64 = 2;
/// Protocol buffers have no more bytes.
const MOST_BYTES: u64 = 1 << 31;

/// Writes the scorer.
pub(super) fn write(path: &Path, users: &Vectors<'_>, items: &Vectors<'_>) -> Result<(), Error> {
    let (rows, cols) = (
        users.factors.rows() + items.factors.rows(),
        users.factors.cols(),
    );
    if 4 * (rows as u64) * cols as u64 > MOST_BYTES - (1 << 20) {
        return Err(ModelFileError::LayoutTooSmall {
            path: path.to_owned(),
            rows,
            cols,
        }
        .into());
    }
    let mut file = AtomicFile::create(path)?;
    let written = write_model(&mut file, users, items);
    written.map_err(Error::io(path))?;
    file.commit()
}

fn write_model(out: &mut impl Write, users: &Vectors<'_>, items: &Vectors<'_>) -> io::Result<()> {
    let mut head = Message::default();
    head.number(1, IR_VERSION);
    head.text(2, "absentia");
    head.text(3, env!("CARGO_PKG_VERSION"));
    let mut operators = Message::default();
    operators.text(1, "");
    operators.number(2, OPERATORS);
    head.message(8, &operators);
    out.write_all(&head.0)?;

    let graph = graph();
    let tensors = [("P", users), ("Q", items)];
    let heads = tensors.map(|(name, vectors)| tensor_head(name, vectors));
    let bytes =
        |vectors: &Vectors<'_>| 4 * (vectors.factors.rows() * vectors.factors.cols()) as u64;
    let sizes: Vec<u64> = heads
        .iter()
        .zip(&tensors)
        .map(|(head, (_, vectors))| head.0.len() as u64 + bytes(vectors))
        .collect();
    let tensor_key = Message::key(5, LENGTH);
    let framed = |size: u64| (tensor_key.len() + varint(size).len()) as u64 + size;
    let total = graph.0.len() as u64 + sizes.iter().map(|&size| framed(size)).sum::<u64>();
    out.write_all(&Message::key(7, LENGTH))?;
    out.write_all(&varint(total))?;
    out.write_all(&graph.0)?;
    for ((head, (_, vectors)), size) in heads.iter().zip(&tensors).zip(sizes) {
        out.write_all(&tensor_key)?;
        out.write_all(&varint(size))?;
        out.write_all(&head.0)?;
        vectors.write_rows(out)?;
    }
    Ok(())
}

/// Everything of the graph but its two tables.
fn graph() -> Message {
    let mut graph = Message::default();
    graph.text(2, "scorer");
    graph.message(1, &node("Gather", &["P", "user"], &["p"], &[]));
    graph.message(1, &node("Gemm", &["p", "Q"], &["scores"], &[("transB", 1)]));
    let best = ["top_scores", "items"];
    graph.message(1, &node("TopK", &["scores", "k"], &best, &[]));
    graph.message(11, &value("user", INT64, &["B"]));
    graph.message(11, &value("k", INT64, &["one"]));
    graph.message(12, &value("scores", FLOAT, &["B", "N"]));
    graph.message(12, &value("items", INT64, &["B", "K"]));
    graph.message(12, &value("top_scores", FLOAT, &["B", "K"]));
    graph
}

fn node(operator: &str, inputs: &[&str], outputs: &[&str], attributes: &[(&str, u64)]) -> Message {
    let mut node = Message::default();
    for input in inputs {
        node.text(1, input);
    }
    for output in outputs {
        node.text(2, output);
    }
    node.text(4, operator);
    for (name, value) in attributes {
        let mut attribute = Message::default();
        attribute.text(1, name);
        attribute.number(3, *value);
        attribute.number(20, ATTRIBUTE_INT);
        node.message(5, &attribute);
    }
    node
}

/// An input or output with named dimensions.
fn value(name: &str, kind: u64, dimensions: &[&str]) -> Message {
    let mut shape = Message::default();
    for dimension in dimensions {
        let mut one = Message::default();
        one.text(2, dimension);
        shape.message(1, &one);
    }
    let (mut tensor, mut of, mut value) = <(Message, Message, Message)>::default();
    tensor.number(1, kind);
    tensor.message(2, &shape);
    of.message(1, &tensor);
    value.text(1, name);
    value.message(2, &of);
    value
}

/// A table up to its numbers, which are its last field.
fn tensor_head(name: &str, vectors: &Vectors<'_>) -> Message {
    let (rows, cols) = (vectors.factors.rows(), vectors.factors.cols());
    let mut tensor = Message::default();
    tensor.number(1, rows as u64);
    tensor.number(1, cols as u64);
    tensor.number(2, FLOAT);
    tensor.text(8, name);
    tensor.0.extend(Message::key(9, LENGTH));
    tensor.0.extend(varint(4 * (rows * cols) as u64));
    tensor
}

/// Kinds of fields.
const NUMBER: u64 = 0;
const LENGTH: u64 = 2;

/// A message of a protocol buffer.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn key(field: u64, kind: u64) -> Vec<u8> {
        varint(field << 3 | kind)
    }

    fn number(&mut self, field: u64, value: u64) {
        self.0.extend(Self::key(field, NUMBER));
        self.0.extend(varint(value));
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.0.extend(Self::key(field, LENGTH));
        self.0.extend(varint(bytes.len() as u64));
        self.0.extend_from_slice(bytes);
    }

    fn text(&mut self, field: u64, text: &str) {
        self.bytes(field, text.as_bytes());
    }

    fn message(&mut self, field: u64, message: &Message) {
        self.bytes(field, &message.0);
    }
}

/// Seven bits a byte, the lowest first.
fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}
