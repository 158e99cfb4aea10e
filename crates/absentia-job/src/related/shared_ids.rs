//! Checks that a relation shares ids with the data or with earlier relations, and detects its header by these ids.

use absentia::relations::Entity;
use absentia_io::{FirstLine, IdMap};

use super::{RelationRows, RelationTable};
use crate::error::JobError;
use crate::listener::{Event, Listener};
use crate::text::RelationSpec;

/// A relation that is about to be joined to what is there before it.
pub(super) struct SharedIds<'m> {
    pub(super) spec: &'m RelationSpec,
    pub(super) entities: &'m [Entity],
    /// Number of ids that its two types have before it.
    pub(super) known: [usize; 2],
    /// The type that it adds, which has no ids before it.
    pub(super) added: Option<usize>,
}

impl SharedIds<'_> {
    /// Rejects a relation none of whose ids of a type are there before it, and reports one with few of them.
    pub(super) fn report(
        &self,
        ends: &[(usize, Vec<u32>); 2],
        listener: &dyn Listener,
    ) -> Result<(), JobError> {
        for ((entity, rows), &known) in ends.iter().zip(&self.known) {
            if Some(*entity) == self.added {
                continue;
            }
            let used = || rows.iter().filter(|&&row| row != u32::MAX);
            let (of, shared) = (
                used().count(),
                used().filter(|&&row| (row as usize) < known).count(),
            );
            let (relation, name) = (self.spec.name(), &self.entities[*entity].name[..]);
            // Users and items are those of the data, other types those of other relations.
            let place = if *entity < 2 {
                "the data"
            } else {
                "another relation"
            };
            if shared == 0 {
                return Err(JobError::NoSharedIds {
                    relation,
                    file: self.spec.file.clone(),
                    entity: name.to_owned(),
                    place,
                });
            }
            if 2 * shared < of {
                listener.event(&Event::FewSharedIds {
                    relation: &relation,
                    entity: name,
                    place,
                    shared,
                    of,
                });
            }
        }
        Ok(())
    }

    /// Rejects a file whose first line may name its columns as well as be a row.
    pub(super) fn check_first_lines(
        &self,
        one: &RelationRows,
        (first, second): (usize, usize),
        ids: &[IdMap],
    ) -> Result<(), JobError> {
        let known = |place: usize, cell: &str| {
            let entity = if place == 0 { first } else { second };
            Some(entity) != self.added && ids[entity].get(cell).is_some()
        };
        let anchors: Vec<usize> = [first, second]
            .iter()
            .enumerate()
            .filter(|(_, entity)| Some(**entity) != self.added)
            .map(|(place, _)| place)
            .collect();
        if let RelationTable::Features(table) = &one.rows
            && let Some(line) = &table.first_line
            && known(0, cell(line, 0))
        {
            return Err(unclear(self.spec, line));
        }
        for line in &one.first_lines {
            let is_known = anchors.iter().any(|&place| known(place, cell(line, place)));
            let is_usual = anchors.iter().any(|&place| is_name(self.spec, line, place));
            let is_sure = if line.is_header {
                // Names of columns are not among the ids, and at least one is a name that is usual.
                !is_known && (line.differs || is_usual)
            } else {
                let is_row = |&place: &usize| {
                    cell(line, place).parse::<i64>().is_ok() || recurs(one, line, place)
                };
                is_known || anchors.iter().any(is_row)
            };
            if !is_sure {
                return Err(unclear(self.spec, line));
            }
        }
        Ok(())
    }
}

/// Whether a cell is a usual name of a column, or the name of the column's type: `tags`, `tag` or `tag_id`.
pub(crate) fn is_name(spec: &RelationSpec, line: &FirstLine, place: usize) -> bool {
    let name = if place == 0 {
        &spec.types.first
    } else {
        &spec.types.second
    };
    let cell = cell(line, place).to_lowercase();
    let cell = cell.strip_suffix("id").unwrap_or(&cell);
    let cell = cell.trim_end_matches(['_', ' ']);
    let is_type = cell == name || name.strip_suffix('s') == Some(cell);
    is_type || line.is_usual_heading(place)
}

/// The error of a line that may be read in two ways.
pub(crate) fn unclear(spec: &RelationSpec, line: &FirstLine) -> JobError {
    JobError::FirstLine {
        file: line.path.display().to_string(),
        line: line.line,
        cells: line.cells.join(", "),
        relation: spec.name(),
    }
}

/// A cell of the first two columns.
pub(crate) fn cell(line: &FirstLine, place: usize) -> &str {
    line.cells.get(place).map_or("", String::as_str)
}

/// Whether the id of the first line is that of another row as well, as the name of a column hardly is.
fn recurs(one: &RelationRows, line: &FirstLine, place: usize) -> bool {
    let RelationTable::Entries(dataset) = &one.rows else {
        return false;
    };
    let (ids, column) = if place == 0 {
        (&dataset.users, &dataset.user)
    } else {
        (&dataset.items, &dataset.item)
    };
    let Some(own) = ids.get(cell(line, place)) else {
        return false;
    };
    column.iter().filter(|&&row| row == own).nth(1).is_some()
}
