use std::path::Path;

use super::*;
use crate::error::Error;

fn read_bytes(bytes: &[u8]) -> Result<Array, Error> {
    read(&mut &bytes[..], bytes.len() as u64, Path::new("x.npy"))
}

fn raw(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&(header.len() as u16).to_le_bytes());
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend_from_slice(data);
    bytes
}

fn back<T: Element>(shape: &[usize], data: &[T]) -> Array {
    let mut bytes = Vec::new();
    write(&mut bytes, shape, data).unwrap();
    assert_eq!((bytes.len() - std::mem::size_of_val(data)) % 64, 0);
    read_bytes(&bytes).unwrap()
}

#[test]
fn every_type_is_read_back() {
    assert_eq!(
        back(&[3], &[1.5_f32, -0.0, 3.0]).data,
        Data::F32(vec![1.5, -0.0, 3.0])
    );
    assert_eq!(
        back(&[1, 2], &[1.5_f64, 2.0]),
        Array {
            shape: vec![1, 2],
            data: Data::F64(vec![1.5, 2.0])
        }
    );
    assert_eq!(back(&[2], &[-1_i32, 7]).data, Data::I32(vec![-1, 7]));
    assert_eq!(back(&[2], &[-1_i64, 7]).data.into_i64(), Some(vec![-1, 7]));
    assert_eq!(
        back(&[2], &[u32::MAX, 7]).data,
        Data::U32(vec![u32::MAX, 7])
    );
    assert_eq!(back(&[2], &[u64::MAX, 7]).data.into_i64(), None);
    assert_eq!(
        back(&[2], &[true, false]).data.into_f32(),
        Some(vec![1.0, 0.0])
    );
    assert_eq!(
        back::<f32>(&[0, 4], &[]),
        Array {
            shape: vec![0, 4],
            data: Data::F32(vec![])
        }
    );
    let long: Vec<f32> = (0..200_000).map(|x| x as f32).collect();
    assert_eq!(back(&[200_000], &long).data, Data::F32(long));
}

#[test]
fn other_orders_and_strings_are_understood() {
    let fortran = raw(
        "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3)}",
        &[0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6],
    );
    assert_eq!(
        read_bytes(&fortran).unwrap().data,
        Data::I32(vec![1, 2, 3, 4, 5, 6])
    );
    let text = raw(
        "{'descr': '|S3', 'fortran_order': False, 'shape': ()}",
        b"csr",
    );
    assert_eq!(
        read_bytes(&text).unwrap().data,
        Data::Text(vec!["csr".to_owned()])
    );
    let wide = raw(
        "{'descr': '<U2', 'fortran_order': False, 'shape': (1,)}",
        &[b'a', 0, 0, 0, 0, 0, 0, 0],
    );
    assert_eq!(
        read_bytes(&wide).unwrap().data,
        Data::Text(vec!["a".to_owned()])
    );
}

#[test]
fn hostile_headers_are_refused_before_anything_is_allocated() {
    for shape in [
        "(4611686018427387904, 4)",
        "(99999999999,)",
        "(3,)",
        "(-1,)",
        "(99999999999999999999,)",
        "(2",
        "2",
    ] {
        let bytes = raw(
            &format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}}}"),
            &[0; 8],
        );
        assert!(
            matches!(read_bytes(&bytes), Err(Error::Corrupt { .. })),
            "{shape}"
        );
    }
    let objects = raw(
        "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}",
        b"pickle",
    );
    assert!(
        read_bytes(&objects)
            .unwrap_err()
            .to_string()
            .contains("pickled Python objects")
    );
    let fields = raw(
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
        &[0; 4],
    );
    assert!(matches!(
        read_bytes(&fields),
        Err(Error::Unsupported { .. })
    ));
    let empty = raw(
        "{'descr': '|S0', 'fortran_order': False, 'shape': (9999999999,)}",
        &[],
    );
    assert!(read_bytes(&empty).is_err());
    assert!(read_bytes(b"\x93NUMPY\x02\x00\xff\xff\xff\xff").is_err());
    assert!(read_bytes(b"").is_err());
}

#[test]
fn a_wrong_shape_is_not_written() {
    assert!(write(&mut Vec::new(), &[3], &[1.0_f32]).is_err());
}
