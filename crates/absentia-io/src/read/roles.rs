//! Decides which column of a file plays which role.

use std::path::Path;

use super::cells::CellKind;
use crate::column::{Column, ColumnRef, Columns};
use crate::error::Error;

/// The place of each role's column, counted from 0, in the order of [`Column::ALL`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Roles {
    places: [Option<usize>; 5],
}

impl Roles {
    pub(super) fn get(&self, column: Column) -> Option<usize> {
        self.places[column as usize]
    }

    pub(super) fn has(&self, column: Column) -> bool {
        self.get(column).is_some()
    }

    fn set(&mut self, column: Column, place: usize) {
        self.places[column as usize] = Some(place);
    }

    /// The headings, or places, of the columns by their roles.
    pub(super) fn names_of_columns(&self, names: &[String]) -> Vec<(Column, String)> {
        let name = |column: Column| names.get(self.get(column)?).cloned();
        Column::ALL
            .into_iter()
            .filter_map(|column| Some((column, name(column)?)))
            .collect()
    }

    fn is_taken(&self, place: usize) -> bool {
        self.places.contains(&Some(place))
    }

    /// Takes the columns the caller chose.
    fn chosen(names: &[String], columns: &Columns, path: &Path) -> Result<Self, Error> {
        let mut roles = Self::default();
        for column in Column::ALL {
            let place = match columns.get(column) {
                None | Some(ColumnRef::Absent) => continue,
                Some(ColumnRef::Name(name)) => names.iter().position(|n| n == name),
                Some(ColumnRef::Position(place)) => {
                    place.checked_sub(1).filter(|&p| p < names.len())
                }
            };
            match (place, columns.get(column)) {
                (Some(place), _) => roles.set(column, place),
                (None, wanted) => return Err(missing(path, column, names, wanted)),
            }
        }
        Ok(roles)
    }

    fn recognise(&mut self, names: &[String], columns: &Columns) {
        for column in Column::ALL
            .into_iter()
            .filter(|&c| columns.get(c).is_none())
        {
            let found = column.place_among(names, |place| !self.is_taken(place));
            self.places[column as usize] = found;
        }
    }

    /// Finds columns by their headings.
    pub(super) fn by_heading(
        names: &[String],
        columns: &Columns,
        path: &Path,
    ) -> Result<Self, Error> {
        let mut roles = Self::chosen(names, columns, path)?;
        roles.recognise(names, columns);
        for column in [Column::User, Column::Item] {
            if !roles.has(column) {
                return Err(missing(path, column, names, None));
            }
        }
        Ok(roles)
    }

    /// Finds columns by their headings, or by place where none is recognised.
    pub(super) fn by_heading_or_place(
        names: &[String],
        kinds: &[CellKind],
        columns: &Columns,
        path: &Path,
    ) -> Result<Self, Error> {
        let mut roles = Self::chosen(names, columns, path)?;
        roles.recognise(names, columns);
        let recognised = |&column: &Column| columns.get(column).is_none() && roles.has(column);
        if Column::ALL.iter().any(recognised) {
            return Self::by_heading(names, columns, path);
        }
        Self::by_place(names, kinds, columns, path)
    }

    /// Finds columns by place: user, item, then rating and time as far as the cells look like them.
    pub(super) fn by_place(
        names: &[String],
        kinds: &[CellKind],
        columns: &Columns,
        path: &Path,
    ) -> Result<Self, Error> {
        let mut roles = Self::chosen(names, columns, path)?;
        for column in [Column::User, Column::Item] {
            let free = (0..names.len()).find(|&p| !roles.is_taken(p));
            match (roles.has(column), columns.get(column), free) {
                (true, ..) => {}
                (false, None, Some(place)) => roles.set(column, place),
                (false, wanted, _) => return Err(missing(path, column, names, wanted)),
            }
        }
        roles.guess_rating_and_time(kinds, columns);
        Ok(roles)
    }

    fn guess_rating_and_time(&mut self, kinds: &[CellKind], columns: &Columns) {
        let free: Vec<usize> = (0..kinds.len().min(4))
            .filter(|&p| !self.is_taken(p))
            .collect();
        for (nth, &place) in free.iter().enumerate() {
            let last = nth + 1 == free.len();
            let kind = kinds[place];
            let open = |roles: &Self, column| !roles.has(column) && columns.get(column).is_none();
            let like_time = kind == CellKind::Date
                || (kind == CellKind::Large && last)
                || (kind.is_number() && nth > 0);
            if like_time && open(self, Column::Time) {
                self.set(Column::Time, place);
            } else if kind.is_number() && open(self, Column::Rating) {
                self.set(Column::Rating, place);
            }
        }
    }
}

/// The places of the columns of a table in memory, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableColumns(Roles);

impl TableColumns {
    /// Takes the columns that were chosen and finds the others by their usual headings. Only if all
    /// headings are numbered places (`0`, `f0`, `column_1`) the order is user, item, rating, time, as
    /// far as the cells of the first row look like ratings and times.
    ///
    /// # Errors
    /// There is no column for users or none for items.
    pub fn find(
        headings: &[String],
        first_row: &[String],
        columns: &Columns,
    ) -> Result<Self, Error> {
        let path = Path::new("table");
        if !headings.iter().all(|heading| is_place(heading)) {
            return Roles::by_heading(headings, columns, path).map(Self);
        }
        let kind = |place| {
            let cell: Option<&String> = first_row.get(place);
            CellKind::of(cell.map_or(&[][..], |cell| cell.as_bytes()))
        };
        let kinds: Vec<CellKind> = (0..headings.len()).map(kind).collect();
        Roles::by_place(headings, &kinds, columns, path).map(Self)
    }

    /// The place of a column, unless the table has none.
    #[must_use]
    pub fn get(&self, column: Column) -> Option<usize> {
        self.0.get(column)
    }
}

/// Whether a heading only numbers a column, as libraries do for tables without headings.
fn is_place(heading: &str) -> bool {
    let word = heading.trim_end_matches(|c: char| c.is_ascii_digit());
    let numbered = word.len() < heading.len();
    numbered && ["", "f", "_c", "column_", "column", "col"].contains(&word)
}

fn missing(path: &Path, column: Column, names: &[String], wanted: Option<&ColumnRef>) -> Error {
    let wanted = match wanted {
        Some(ColumnRef::Absent) => format!("for the {column} (it cannot be left out)"),
        Some(ColumnRef::Name(name)) => format!("{name:?}"),
        Some(ColumnRef::Position(place)) => place.to_string(),
        None => format!("for the {column} (such as {column}_id)"),
    };
    Error::Column {
        path: path.to_owned(),
        wanted,
        column,
        available: names.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(kinds: &[CellKind], columns: &Columns) -> Roles {
        let names: Vec<String> = (1..=kinds.len()).map(|p| p.to_string()).collect();
        Roles::by_place(&names, kinds, columns, Path::new("x")).unwrap()
    }

    #[test]
    fn a_third_column_of_large_numbers_is_time() {
        use CellKind::{Date, Large, Number, Text};
        let auto = Columns::default();
        assert_eq!(
            place(&[Number, Number, Large], &auto).places,
            [Some(0), Some(1), None, Some(2), None]
        );
        assert_eq!(
            place(&[Number, Number, Number], &auto).places,
            [Some(0), Some(1), Some(2), None, None]
        );
        assert_eq!(
            place(&[Text, Text, Number, Large], &auto).places,
            [Some(0), Some(1), Some(2), Some(3), None]
        );
        assert_eq!(
            place(&[Text, Text, Date, Number], &auto).places,
            [Some(0), Some(1), Some(3), Some(2), None]
        );
        assert_eq!(
            place(&[Text, Text, Text], &auto).places,
            [Some(0), Some(1), None, None, None]
        );
    }

    #[test]
    fn tables_are_read_by_heading_or_by_place() {
        let find = |headings: &[&str], cells: &[&str]| {
            let owned = |texts: &[&str]| texts.iter().map(|&t| t.to_owned()).collect::<Vec<_>>();
            TableColumns::find(&owned(headings), &owned(cells), &Columns::default())
                .map(|found| found.0.places)
        };
        assert_eq!(
            find(&["plays", "artist", "user_id"], &["3", "Can", "7"]).unwrap(),
            [Some(2), Some(1), Some(0), None, None]
        );
        assert_eq!(
            find(&["0", "1", "2"], &["7", "8", "2020-01-01 00:00:00"]).unwrap(),
            [Some(0), Some(1), None, Some(2), None]
        );
        assert_eq!(
            find(&["column_1", "column_2", "column_3"], &[]).unwrap(),
            [Some(0), Some(1), None, None, None]
        );
        // Names that say nothing about users and items must not be read in any order.
        for headings in [
            &["user", "b"][..],
            &["sku", "user_id", "qty"],
            &["rating", "a", "b"],
            &["a", "b"],
            &["0"],
        ] {
            assert!(find(headings, &["1", "2", "3"]).is_err(), "{headings:?}");
        }
    }

    #[test]
    fn a_recognised_heading_of_a_file_is_never_read_by_place() {
        let kinds = [CellKind::Number; 3];
        let read = |names: [&str; 3]| {
            let names = names.map(str::to_owned);
            Roles::by_heading_or_place(&names, &kinds, &Columns::default(), Path::new("x"))
        };
        assert!(read(["rating", "client", "sku"]).is_err());
        assert_eq!(
            read(["client", "sku", "qty"]).unwrap().places,
            [Some(0), Some(1), Some(2), None, None]
        );
    }

    #[test]
    fn choices_win_and_the_rest_moves_up() {
        let columns = Columns {
            user: Some(ColumnRef::Position(2)),
            rating: Some(ColumnRef::Absent),
            ..Columns::default()
        };
        let roles = place(
            &[
                CellKind::Number,
                CellKind::Number,
                CellKind::Number,
                CellKind::Large,
            ],
            &columns,
        );
        assert_eq!(roles.places, [Some(1), Some(0), None, Some(3), None]);
    }
}
