//! The cells of Arrow columns as integers, numbers and text, whatever type they are stored in.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Float16Type, Float32Type,
    Float64Type, Int32Type, Int64Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, Float32Array, Float64Array, Int64Array, LargeStringArray, StringArray,
    StringViewArray, downcast_primitive_array,
};
use arrow_buffer::ArrowNativeType;
use arrow_schema::{ArrowError, DataType};

pub(super) type ArrowResult<T> = Result<T, ArrowError>;

fn unsupported<T>(kind: &DataType, wanted: &str) -> ArrowResult<T> {
    Err(ArrowError::CastError(format!("{kind} is no {wanted}")))
}

/// A column without the dictionary that its cells may be stored in.
pub(super) fn plain(array: &ArrayRef) -> ArrowResult<ArrayRef> {
    match array.as_any_dictionary_opt() {
        Some(coded) => arrow_select::take::take(coded.values(), coded.keys(), None),
        None => Ok(Arc::clone(array)),
    }
}

/// Integers, dates and times as they are stored; those that do not fit into `i64` are null.
pub(super) fn integers(array: &ArrayRef) -> ArrowResult<Int64Array> {
    match array.data_type() {
        DataType::Int64 => return Ok(array.as_primitive::<Int64Type>().clone()),
        DataType::Int32 => return Ok(array.as_primitive::<Int32Type>().unary(i64::from)),
        kind if !kind.is_integer() && !kind.is_temporal() => return unsupported(kind, "integer"),
        _ => {}
    }
    let array = array.as_ref();
    downcast_primitive_array!(
        array => Ok(array.unary_opt(ArrowNativeType::to_i64)),
        kind => unsupported(kind, "integer"),
    )
}

/// Numbers and truth values.
pub(super) fn floats(array: &ArrayRef) -> ArrowResult<Float64Array> {
    Ok(match array.data_type() {
        DataType::Float64 => array.as_primitive::<Float64Type>().clone(),
        DataType::Float32 => array.as_primitive::<Float32Type>().unary(f64::from),
        DataType::Float16 => array.as_primitive::<Float16Type>().unary(f64::from),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().unary(|x| x as f64),
        DataType::Boolean => array
            .as_boolean()
            .iter()
            .map(|cell| cell.map(|yes| f64::from(u8::from(yes))))
            .collect(),
        DataType::Decimal32(_, scale) => {
            let unit = 10_f64.powi(i32::from(*scale));
            array
                .as_primitive::<Decimal32Type>()
                .unary(|x| f64::from(x) / unit)
        }
        DataType::Decimal64(_, scale) => {
            let unit = 10_f64.powi(i32::from(*scale));
            array
                .as_primitive::<Decimal64Type>()
                .unary(|x| x as f64 / unit)
        }
        DataType::Decimal128(_, scale) => {
            let unit = 10_f64.powi(i32::from(*scale));
            array
                .as_primitive::<Decimal128Type>()
                .unary(|x| x as f64 / unit)
        }
        DataType::Decimal256(_, scale) => {
            let unit = 10_f64.powi(i32::from(*scale));
            array
                .as_primitive::<Decimal256Type>()
                .unary_opt(|x| x.to_string().parse::<f64>().ok().map(|x| x / unit))
        }
        kind if kind.is_integer() => integers(array)?.unary(|x| x as f64),
        kind => return unsupported(kind, "number"),
    })
}

/// Numbers and truth values in single precision.
pub(super) fn numbers(array: &ArrayRef) -> ArrowResult<Float32Array> {
    match array.data_type() {
        DataType::Float32 => Ok(array.as_primitive::<Float32Type>().clone()),
        _ => Ok(floats(array)?.unary(|x| x as f32)),
    }
}

/// A column of text.
pub(super) enum Text {
    Short(StringArray),
    Long(LargeStringArray),
    View(StringViewArray),
}

impl Text {
    /// Takes text as it is and integers by their digits; bytes that are not UTF-8 are null.
    pub(super) fn new(array: &ArrayRef) -> ArrowResult<Self> {
        Ok(match array.data_type() {
            DataType::Utf8 => Self::Short(array.as_string().clone()),
            DataType::LargeUtf8 => Self::Long(array.as_string().clone()),
            DataType::Utf8View => Self::View(array.as_string_view().clone()),
            DataType::Binary => Self::Short(
                array
                    .as_binary::<i32>()
                    .iter()
                    .map(|cell| std::str::from_utf8(cell?).ok())
                    .collect(),
            ),
            DataType::UInt64 => Self::Long(
                array
                    .as_primitive::<UInt64Type>()
                    .iter()
                    .map(|cell| cell.map(|id| id.to_string()))
                    .collect(),
            ),
            kind if kind.is_integer() => Self::Long(
                integers(array)?
                    .iter()
                    .map(|cell| cell.map(|id| id.to_string()))
                    .collect(),
            ),
            kind => return unsupported(kind, "text"),
        })
    }

    /// The text of a row, unless it is null.
    pub(super) fn get(&self, row: usize) -> Option<&str> {
        fn some<'a>(
            array: &dyn Array,
            row: usize,
            text: impl FnOnce() -> &'a str,
        ) -> Option<&'a str> {
            (!array.is_null(row)).then(text)
        }
        match self {
            Self::Short(array) => some(array, row, || array.value(row)),
            Self::Long(array) => some(array, row, || array.value(row)),
            Self::View(array) => some(array, row, || array.value(row)),
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{
        BinaryArray, BooleanArray, Date64Array, Decimal128Array, DictionaryArray, Int8Array,
        TimestampMicrosecondArray, UInt64Array,
    };

    use super::*;

    fn shared(array: impl Array + 'static) -> ArrayRef {
        Arc::new(array)
    }

    #[test]
    fn integers_of_every_width_and_times_are_integers() {
        let narrow = integers(&shared(Int8Array::from(vec![Some(-3), None]))).unwrap();
        assert_eq!(narrow, Int64Array::from(vec![Some(-3), None]));
        let wide = integers(&shared(UInt64Array::from(vec![7, u64::MAX]))).unwrap();
        assert_eq!(wide, Int64Array::from(vec![Some(7), None]));
        let times = shared(TimestampMicrosecondArray::from(vec![5]).with_timezone("+02:00"));
        assert_eq!(integers(&times).unwrap().value(0), 5);
        assert_eq!(
            integers(&shared(Date64Array::from(vec![9])))
                .unwrap()
                .value(0),
            9
        );
        assert!(integers(&shared(BooleanArray::from(vec![true]))).is_err());
    }

    #[test]
    fn decimals_and_truth_values_are_numbers() {
        let cents = Decimal128Array::from(vec![Some(450), None])
            .with_precision_and_scale(9, 2)
            .unwrap();
        assert_eq!(
            numbers(&shared(cents)).unwrap(),
            Float32Array::from(vec![Some(4.5), None])
        );
        let yes = numbers(&shared(BooleanArray::from(vec![true, false]))).unwrap();
        assert_eq!(yes, Float32Array::from(vec![1.0, 0.0]));
    }

    #[test]
    fn text_is_taken_from_text_bytes_and_digits() {
        let text = |array: ArrayRef| {
            let text = Text::new(&array).unwrap();
            (0..array.len())
                .map(|row| text.get(row).map(str::to_owned))
                .collect::<Vec<_>>()
        };
        let bytes = BinaryArray::from(vec![Some(&b"up"[..]), Some(b"\xff"), None]);
        assert_eq!(text(shared(bytes)), [Some("up".to_owned()), None, None]);
        let largest = u64::MAX.to_string();
        assert_eq!(
            text(shared(UInt64Array::from(vec![u64::MAX]))),
            [Some(largest)]
        );
        let coded: DictionaryArray<Int32Type> = vec!["a", "b", "a"].into_iter().collect();
        let plain = plain(&shared(coded)).unwrap();
        assert_eq!(text(plain)[2].as_deref(), Some("a"));
    }
}
