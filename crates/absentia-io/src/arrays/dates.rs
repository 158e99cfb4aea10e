//! Files of the day from which each item was there.

use std::path::Path;

use super::error::ArrayError;
use super::numbers::{cells, is_npy, whole_numbers};
use crate::column::Column;
use crate::error::Error;
use crate::ids::IdMap;
use crate::time::{Moment, TimeUnit};

/// Headings of a column of dates besides the usual ones of times.
const HEADINGS: [&str; 4] = ["released", "release", "release_date", "year"];

/// Yields the day of each item in unix seconds, where the file has it.
///
/// A `.npy` array has unix times by position, the smallest number for an unknown day. A CSV or TSV table has a
/// column of ids and one of dates, found by their headings, or else the first two; an empty date is unknown.
pub(super) fn dates(path: &Path, items: &IdMap) -> Result<Vec<Option<i64>>, Error> {
    let mut dates = vec![None; items.len()];
    if is_npy(path) {
        for (date, number) in dates.iter_mut().zip(whole_numbers(path)?) {
            *date = (number != i64::MIN).then(|| TimeUnit::Seconds.of_moment(Moment(number)));
        }
        return Ok(dates);
    }
    let lines = cells(path)?;
    let Some(first) = lines.first() else {
        return Err(Error::Empty {
            path: path.to_owned(),
        });
    };
    let has_header = first
        .iter()
        .skip(1)
        .all(|cell| date_in_seconds(cell).is_none());
    let (id_at, date_at) = if has_header { places(first) } else { (0, 1) };
    for (line, row) in lines.iter().enumerate().skip(usize::from(has_header)) {
        let cell = row.get(date_at).map_or("", String::as_str);
        let (Some(id), false) = (row.get(id_at), cell.is_empty()) else {
            continue;
        };
        let Some(date) = date_in_seconds(cell) else {
            return Err(ArrayError::Date {
                path: path.to_owned(),
                line: line + 1,
                value: cell.to_owned(),
            }
            .into());
        };
        if let Some(item) = items.get(id) {
            dates[item as usize] = Some(date);
        }
    }
    Ok(dates)
}

/// The places of the columns of ids and of dates.
fn places(headings: &[String]) -> (usize, usize) {
    let find = |test: &dyn Fn(&str) -> bool| headings.iter().position(|heading| test(heading));
    let is_date = |heading: &str| {
        let extra = HEADINGS
            .iter()
            .any(|known| heading.eq_ignore_ascii_case(known));
        extra || Column::Time.is_usual_heading(heading)
    };
    let id = find(&|heading| Column::Item.is_usual_heading(heading)).unwrap_or(0);
    let date = find(&is_date).unwrap_or(usize::from(id == 0));
    (id, date)
}

/// A date, a unix time in any unit or a year, in unix seconds.
#[must_use]
pub fn date_in_seconds(cell: &str) -> Option<i64> {
    let is_year = cell.len() == 4 && cell.bytes().all(|byte| byte.is_ascii_digit());
    let moment: Option<Moment> = if is_year {
        format!("{cell}-01-01").parse().ok()
    } else {
        cell.parse().ok()
    };
    moment.map(|moment| TimeUnit::Seconds.of_moment(moment))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, text: &str) -> Result<Vec<Option<i64>>, Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join(name);
        std::fs::write(&path, text)?;
        let items: IdMap = ["jaws", "up", "alien"].iter().collect();
        Ok(dates(&path, &items)?)
    }

    #[test]
    fn columns_are_found_by_heading_or_place() -> Result<(), Box<dyn std::error::Error>> {
        let expected = [Some(172_800), Some(946_684_800), None];
        for text in [
            "title,released,movieId\nJaws,1970-01-03,jaws\nUp,2000,up\nAlien,,alien\n",
            "item\tdate\njaws\t172800\nup\t946684800000\n",
            "jaws,1970-01-03\nup,2000-01-01\nelf,2003-11-07\n",
            "id,there since\nup,2000\njaws,1970-01-03\n",
        ] {
            assert_eq!(read("dates.csv", text)?, expected, "{text}");
        }
        Ok(())
    }

    #[test]
    fn what_is_no_date_is_named_with_its_line() {
        let error = read("dates.csv", "item,date\njaws,1975\nup,soon\n").unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("dates.csv:3: \"soon\" is not a date"),
            "{text}"
        );
    }
}
