//! A recognised heading of a table or a file binds its column.
#![allow(clippy::unwrap_used)]

mod common;

use absentia_io::{Column, ColumnRef, Columns, Error, TableColumns};
use common::{message, read_default, rows};

fn find(headings: &[&str], columns: &Columns) -> Result<[Option<usize>; 3], Error> {
    let owned: Vec<String> = headings.iter().map(|&text| text.to_owned()).collect();
    let cells = vec!["1".to_owned(); headings.len()];
    let found = TableColumns::find(&owned, &cells, columns)?;
    Ok([Column::User, Column::Item, Column::Rating].map(|column| found.get(column)))
}

#[test]
fn what_stays_ambiguous_in_a_table_is_refused() {
    let open = Columns::default();
    for headings in [
        &["sku", "user_id", "qty"][..],
        &["rating", "client", "sku"],
        &["sku", "client"],
    ] {
        let error = find(headings, &open).unwrap_err().to_string();
        assert!(headings.iter().all(|name| error.contains(name)), "{error}");
    }
    let chosen = Columns {
        item: Some(ColumnRef::Position(1)),
        ..open.clone()
    };
    assert_eq!(
        find(&["sku", "user_id", "qty"], &chosen).unwrap(),
        [Some(1), Some(0), None]
    );
    for places in [["0", "1", "2"], ["f0", "f1", "f2"]] {
        let found = find(&places, &open).unwrap();
        assert_eq!(found, [Some(0), Some(1), Some(2)]);
    }
}

#[test]
fn a_recognised_heading_of_a_file_is_not_read_by_place() {
    let said = message("x.csv", "rating,client,sku\n5,1,2\n4,2,2\n");
    assert!(said.contains("no column for the user"), "{said}");
    let data = read_default("x.csv", "client,sku,qty\n1,2,5\n2,2,4\n").unwrap();
    assert_eq!(rows(&data), ["1 2 5 - -", "2 2 4 - -"]);
}
