//! What to do about a file that cannot be read or written, with the flags that do it.

use absentia_io::model::ModelFileError;
use absentia_io::{BadRow, Column, Error, RowFault, TO_UTF8, is_decimal_comma};

/// What to do about the error: the hint of the library, in flags where there are some.
pub(super) fn hint(error: &Error) -> Option<String> {
    Some(match error {
        Error::Row { row } | Error::TooManyBad { first: row, .. } => of_row(row),
        Error::Column { column, .. } => format!("choose it with {}", flag_of(*column)),
        Error::ColumnType { column, .. } => format!("choose another with {}", flag_of(*column)),
        Error::OneColumn { .. } => "choose the separator with --separator".to_owned(),
        Error::TooManyRows { .. } => {
            "without --dense-ids, memory is used only for ids that occur".to_owned()
        }
        Error::Folder {
            example: Some(example),
            ..
        } => {
            format!("name its files by a pattern in quotes, as in {example:?}")
        }
        Error::Binary { .. } => "choose the format with --format".to_owned(),
        Error::Model(ModelFileError::NotAModel { .. }) => {
            "models are written by `absentia train` and `absentia import`".to_owned()
        }
        Error::Model(ModelFileError::NotACheckpoint { .. }) => {
            "start a new run from it with --init".to_owned()
        }
        error => return error.hint(),
    })
}

/// The flag that chooses a column.
fn flag_of(column: Column) -> &'static str {
    match column {
        Column::User => "--user-col",
        Column::Item => "--item-col",
        Column::Rating => "--rating-col",
        Column::Time => "--time-col",
        Column::Weight => "--weight-col",
    }
}

fn of_row(row: &BadRow) -> String {
    let cure = match &row.fault {
        RowFault::LongLine { .. } => {
            return "check that this is a text file with one row per line, or raise --max-line"
                .to_owned();
        }
        RowFault::Fields { .. } => "choose another --separator".to_owned(),
        RowFault::Number { text, .. } if is_decimal_comma(text) => {
            "read numbers such as 3,5 with --decimal-comma".to_owned()
        }
        RowFault::Number { column, .. }
        | RowFault::Blank { column }
        | RowFault::Key { column, .. } => choose(*column),
        RowFault::Time { .. } => choose(Column::Time),
        RowFault::NotRow { .. } => "leave out --dense-ids if ids are not row numbers".to_owned(),
        RowFault::OutOfRange { .. } => "correct the shape".to_owned(),
        RowFault::Utf8 => format!("{TO_UTF8} choose the right --format"),
        RowFault::Nul => "convert the file to UTF-8, choose the right --format".to_owned(),
        _ => {
            return "correct the line, or leave out up to N such rows with --skip-bad N".to_owned();
        }
    };
    format!("correct the line, {cure}, or leave out up to N such rows with --skip-bad N")
}

/// How to choose another column; those that need not be there can be left out.
fn choose(column: Column) -> String {
    let none = match column {
        Column::User | Column::Item => "",
        _ => " (or 'none')",
    };
    format!("choose the column with {}{none}", flag_of(column))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn row(fault: RowFault) -> Error {
        let row = BadRow {
            path: Path::new("x.csv").into(),
            line: 3,
            text: String::new(),
            fault,
        };
        Error::Row { row: Box::new(row) }
    }

    #[test]
    fn bad_rows_name_the_flags_that_help() {
        let (text, column) = (String::new(), Column::Rating);
        let blank = |column| RowFault::Blank { column };
        for (fault, flag) in [
            (
                RowFault::Fields {
                    expected: 3,
                    got: 2,
                },
                "--separator",
            ),
            (
                RowFault::Number { column, text },
                "--rating-col (or 'none')",
            ),
            (blank(Column::User), "--user-col"),
            (blank(Column::Item), "--item-col"),
            (blank(Column::Weight), "--weight-col"),
            (
                RowFault::Time {
                    text: "soon".to_owned(),
                },
                "--time-col",
            ),
            (RowFault::Utf8, "--format"),
            (RowFault::Quote, "--skip-bad N"),
            (RowFault::LongLine { limit: 9 }, "--max-line"),
        ] {
            let hint_text = hint(&row(fault)).expect("a hint");
            assert!(hint_text.contains(flag), "{hint_text} lacks {flag}");
        }
    }

    #[test]
    fn files_name_the_flags_that_help() {
        let path = || Path::new("x").to_owned();
        let column = Error::Column {
            path: path(),
            wanted: "\"stars\"".to_owned(),
            column: Column::Rating,
            available: Vec::new(),
        };
        let one = Error::OneColumn {
            path: path(),
            line: 1,
            text: String::new(),
        };
        let binary = Error::Binary {
            path: path(),
            hint: None,
        };
        for (error, flag) in [
            (column, "--rating-col"),
            (one, "--separator"),
            (binary, "--format"),
        ] {
            let hint_text = hint(&error).expect("a hint");
            assert!(hint_text.contains(flag), "{hint_text} lacks {flag}");
        }
    }
}
