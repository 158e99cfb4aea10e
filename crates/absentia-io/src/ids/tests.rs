use std::borrow::Cow;

use super::*;

fn text(offsets: &[u64], bytes: &str) -> Result<IdMap, Error> {
    IdMap::from_raw(RawIds::Text {
        offsets: Cow::Borrowed(offsets),
        bytes: Cow::Borrowed(bytes.as_bytes()),
    })
}

#[test]
fn integers_become_text_when_a_name_arrives() {
    let mut ids = IdMap::new();
    for id in ["10", "-3", "10", "007", "naïve", "-3"] {
        ids.intern(id).unwrap();
    }
    assert_eq!(ids.iter().collect::<Vec<_>>(), ["10", "-3", "007", "naïve"]);
    assert_eq!(ids.get("-3"), Some(1));
    assert_eq!(ids.get("7"), None);
    assert_eq!(ids.intern_integer(11).unwrap(), 4);
    assert_eq!(ids.get_integer(11), Some(4));
    assert_eq!(ids.name(5), None);
}

#[test]
fn dense_ids_are_their_own_rows_and_can_grow() {
    let mut ids = IdMap::dense(3);
    assert_eq!(
        (ids.get("2"), ids.get("3"), ids.get("02"), ids.get("-1")),
        (Some(2), None, None, None)
    );
    assert_eq!(ids.intern("3").unwrap(), 3);
    assert!(ids.is_dense());
    assert_eq!(ids.intern("9").unwrap(), 4);
    assert_eq!(ids.get("2"), Some(2));
    assert!(!ids.is_dense());
}

#[test]
fn a_huge_dense_range_is_not_written_out() {
    let mut ids = IdMap::dense(u32::MAX);
    assert!(matches!(ids.intern("x"), Err(Error::TooManyIds { .. })));
    assert!(matches!(
        ids.intern_integer(-1),
        Err(Error::TooManyIds { .. })
    ));
    assert_eq!(ids.get("4294967294"), Some(4_294_967_294));
}

#[test]
fn raw_arrays_give_the_same_map() {
    for names in [vec!["a", "bb", "é"], vec!["1", "-5", "99"]] {
        let ids: IdMap = names.iter().collect();
        assert_eq!(IdMap::from_raw(ids.raw()).unwrap(), ids);
    }
    assert_eq!(
        IdMap::from_raw(IdMap::dense(4).raw()).unwrap().get("3"),
        Some(3)
    );
    assert_eq!(text(&[0, 1, 3], "abb").unwrap().get("bb"), Some(1));
}

#[test]
fn invalid_raw_arrays_are_refused() {
    for (offsets, bytes) in [
        (&[][..], ""),
        (&[1, 2], "ab"),
        (&[0, 1], "ab"),
        (&[0, 2, 1, 2], "ab"),
        (&[0, 1, 1, 2], "ab"),
        (&[0, 1, 2], "aa"),
        (&[0, 1, 2], "é"),
        (&[0, 9, 2], "ab"),
    ] {
        assert!(text(offsets, bytes).is_err(), "{offsets:?} {bytes:?}");
    }
    let repeated = RawIds::Integers(Cow::Owned(vec![4, 4]));
    assert!(
        IdMap::from_raw(repeated)
            .unwrap_err()
            .to_string()
            .contains("repeats id \"4\"")
    );
}

#[test]
fn equality_ignores_the_form() {
    let integers: IdMap = ["0", "1"].iter().collect();
    assert_eq!(integers, IdMap::dense(2));
    assert_ne!(integers, IdMap::dense(3));
}

#[test]
fn a_renamed_row_is_found_by_its_new_id_alone() {
    for ids in [IdMap::dense(4), ["0", "1", "2", "3"].iter().collect()] {
        let mut ids: IdMap = ids;
        ids.rename(2, "erased").unwrap();
        assert_eq!((ids.get("2"), ids.get("erased")), (None, Some(2)));
        let names: Vec<_> = ids.iter().collect();
        assert_eq!(names, ["0", "1", "erased", "3"]);
        assert_eq!(ids.intern("2").unwrap(), 4);
        for (row, id) in [(0, "1"), (0, ""), (9, "x")] {
            assert!(ids.rename(row, id).is_err(), "{row} {id}");
        }
        assert_eq!(ids.len(), 5);
    }
}
