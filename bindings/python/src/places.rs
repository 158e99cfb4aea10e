//! Where a few texts are in a long column, found without converting the column.

use numpy::{Element, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::data::{Column, borrow};

type Places<'py> = Bound<'py, PyArray1<i64>>;

/// Objects that are remembered as other texts; a power of two.
const REMEMBERED: usize = 1 << 12;

/// Offsets of texts in the form of Arrow.
#[derive(FromPyObject)]
pub(crate) enum Offsets {
    Short(Column<i32>),
    Long(Column<i64>),
}

/// The places of a column in the form of Arrow, without nulls, that have one of a few texts.
///
/// Text `i` is `bytes[offsets[i]..offsets[i + 1]]`.
#[pyfunction]
pub(crate) fn places_in_arrow(
    py: Python<'_>,
    offsets: Offsets,
    bytes: Column<u8>,
    texts: Vec<String>,
) -> PyResult<Places<'_>> {
    // An offset below 0 would be one beyond the end.
    let places = match offsets {
        Offsets::Short(offsets) => places_between(py, &offsets, &bytes, &texts, |at| at as usize),
        Offsets::Long(offsets) => places_between(py, &offsets, &bytes, &texts, |at| at as usize),
    }?;
    Ok(PyArray1::from_vec(py, places))
}

fn places_between<T: Element + Copy>(
    py: Python<'_>,
    offsets: &Column<T>,
    bytes: &Column<u8>,
    texts: &[String],
    place: impl Fn(T) -> usize,
) -> PyResult<Vec<i64>> {
    let (offsets, bytes) = (borrow(py, offsets)?, borrow(py, bytes)?);
    let (offsets, bytes) = (offsets.as_slice()?, bytes.as_slice()?);
    let mut places = Vec::new();
    for text in texts.iter().map(String::as_bytes) {
        let cells = offsets.windows(2).enumerate();
        let own = cells.filter(|(_, ends)| is_text(bytes, place(ends[0]), place(ends[1]), text));
        for (cell, _) in own {
            places.push(i64::try_from(cell)?);
        }
    }
    places.sort_unstable();
    places.dedup();
    Ok(places)
}

/// Whether these bytes are a text. Ids differ most in their last bytes, which are compared first.
#[inline]
fn is_text(bytes: &[u8], start: usize, end: usize, text: &[u8]) -> bool {
    if end.wrapping_sub(start) != text.len() {
        return false;
    }
    let Some(cell) = bytes.get(start..end) else {
        return false;
    };
    cell.last() == text.last() && cell == text
}

/// The places of a column of Python objects that have one of a few texts.
///
/// Texts keep their hash: comparing it first is several times faster than comparing texts. Rows often share one object,
/// so those that are other texts are remembered, and not looked at again.
#[pyfunction]
pub(crate) fn places_of_texts<'py>(
    py: Python<'py>,
    column: Column<Py<PyAny>>,
    texts: Vec<Bound<'py, PyString>>,
) -> PyResult<Places<'py>> {
    let column = borrow(py, &column)?;
    let hashes: Vec<isize> = texts
        .iter()
        .map(|text| text.hash())
        .collect::<PyResult<_>>()?;
    let (mut places, mut others) = (Vec::new(), vec![0; REMEMBERED]);
    for (place, cell) in column.as_array().iter().enumerate() {
        let address = cell.as_ptr().addr();
        // Objects are 16 bytes apart at least; their sizes are multiples of that.
        let other = &mut others[((address >> 4) ^ (address >> 16)) % REMEMBERED];
        if *other == address {
            continue;
        }
        let cell = cell.bind(py);
        // What has no hash is no text.
        let is_own = cell.hash().is_ok_and(|hash| hashes.contains(&hash));
        if is_own && texts.iter().any(|text| cell.eq(text).unwrap_or(false)) {
            places.push(i64::try_from(place)?);
        } else {
            *other = address;
        }
    }
    Ok(PyArray1::from_vec(py, places))
}
