//! Users and items that a model does not know, from attributes and interactions.

use absentia_job::text::{RelationSpec, RelationTextError};
use absentia_job::{Folded, GivenRows, KnownRows, RelationRows, read_attributes};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::dataset::{Columns, InMemory, copied, relation};
use crate::error::OrRaise;
use crate::ids::IdMap;
use crate::model::Model;
use crate::notices::Notices;
use crate::pool::{detached, interruptible};

/// Ids and factors of users; ids of all items, and factors of the new ones; the post-scaling of all items.
type FoldedTuple<'py> = (
    IdMap,
    Bound<'py, PyArray2<f32>>,
    IdMap,
    Bound<'py, PyArray2<f32>>,
    Option<Bound<'py, PyArray1<f32>>>,
);

/// Folds in users and items from `relations` in memory, those of `files` as they are written, and interactions.
#[pyfunction]
#[pyo3(signature = (model, settings, relations, files, table=None, threads=None))]
pub(crate) fn fold_in_related<'py>(
    py: Python<'py>,
    model: Py<Model>,
    settings: &str,
    relations: Vec<InMemory>,
    files: Vec<String>,
    table: Option<Columns>,
    threads: Option<usize>,
) -> PyResult<FoldedTuple<'py>> {
    let job = crate::job::parse(settings)?;
    let k = model.get().trained.n_factors();
    let (folded, items, scale) = interruptible(py, move |py, _| {
        let rows = table.map(|columns| copied(py, &columns)).transpose()?;
        let given = relations.iter().map(|one| relation(py, one));
        let mut given: Vec<RelationRows> = given.collect::<PyResult<_>>()?;
        let specs = files.iter().map(|text| text.parse::<RelationSpec>());
        let specs: Vec<RelationSpec> =
            specs
                .collect::<Result<_, _>>()
                .map_err(|error: RelationTextError| {
                    PyValueError::new_err(format!("relations: {error}"))
                })?;
        let notices = Notices::of(&job);
        let (trained, ids) = (&model.get().trained, &model.get().ids);
        let known = KnownRows {
            model: trained,
            users: &ids.users,
            items: &ids.items,
            related: &ids.related,
        };
        let folded = detached(py, threads, || {
            given.extend(read_attributes(&specs, known, &notices)?);
            let given = GivenRows::new(given, rows, known, &notices)?;
            let folded = Folded::new(&given, known, &notices)?;
            let (items, scale) = (folded.all_items(&ids.items)?, folded.item_scale(trained));
            Ok::<_, absentia_job::JobError>((folded, items, scale))
        })?;
        notices.log(py)?;
        folded.or_raise()
    })?;
    let array = |rows: Vec<Vec<f32>>| {
        let count = rows.len();
        PyArray1::from_vec(py, rows.concat()).reshape([count, k])
    };
    Ok((
        IdMap(folded.users.ids),
        array(folded.users.factors)?,
        IdMap(items),
        array(folded.items.factors)?,
        scale.map(|scale| PyArray1::from_vec(py, scale)),
    ))
}
