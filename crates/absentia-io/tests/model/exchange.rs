//! Export and import.

use std::path::Path;

use absentia::data::Confidence;
use absentia::model::{NewEntry, RowWeights};
use absentia::{Axis, Model, Solver};
use absentia_io::model::{
    ExportOptions, Ids, ImportOptions, Layout, export, import_implicit, import_npy,
};
use absentia_io::npy;
use arrow_array::{Array, FixedSizeListArray, Float32Array, StringArray};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::build::{Shape, bits, model};

fn sample() -> (Model, Ids) {
    let shape = Shape {
        users: 3,
        items: 4,
        factors: 5,
        rank: 1,
        padded: true,
        sweeps: 0,
        seed: 4,
    };
    let ids = Ids {
        related: Vec::new(),
        users: ["ann", "b\nob", "c\\"].into_iter().collect(),
        items: ["1", "2", "5", "9"].into_iter().collect(),
    };
    (model(&shape), ids)
}

fn exported(layout: Layout, post_scale: Option<bool>) -> (tempfile::TempDir, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let (model, ids) = sample();
    let options = ExportOptions { layout, post_scale };
    let files = export(&model, &ids, &folder.path().join("out"), options).unwrap();
    let name = |path: &std::path::PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    let names = files.iter().map(name).collect();
    (folder, names)
}

fn floats(bytes: &[u8]) -> Vec<u32> {
    let (numbers, rest) = bytes.as_chunks::<4>();
    assert!(rest.is_empty());
    numbers.iter().map(|n| u32::from_le_bytes(*n)).collect()
}

fn scaled(model: &Model) -> Vec<u32> {
    let scale = model.item_scale().unwrap();
    let row = |i: usize| {
        model
            .item_factors()
            .row(i)
            .iter()
            .map(move |x| (x * scale[i]).to_bits())
    };
    (0..model.n_items()).flat_map(row).collect()
}

#[test]
fn arrays_hold_factors_as_trained_with_the_scale_beside_them() {
    let (folder, names) = exported(Layout::Npy, None);
    assert_eq!(
        names,
        ["P.npy", "Q.npy", "item_scale.npy", "users.txt", "items.txt"]
    );
    let out = folder.path().join("out");
    let (model, ids) = sample();
    let options = ImportOptions {
        users: Some(out.join("users.txt")),
        items: Some(out.join("items.txt")),
        item_counts: Some(model.parts().item_counts.clone()),
        ..ImportOptions::default()
    };
    let (back, ids_back) = import_npy(&out.join("P.npy"), &out.join("Q.npy"), options).unwrap();
    assert_eq!(bits(back.user_factors()), bits(model.user_factors()));
    assert_eq!(bits(back.item_factors()), bits(model.item_factors()));
    assert_eq!(ids_back, ids);
    let scale = npy::read_file(&out.join("item_scale.npy"))
        .unwrap()
        .data
        .into_f32();
    assert_eq!(scale.as_deref(), model.item_scale());
}

#[test]
fn an_export_with_the_scale_applied_leaves_none_beside_it() {
    let (folder, _) = exported(Layout::Npy, None);
    let out = folder.path().join("out");
    let (model, ids) = sample();
    let options = ExportOptions {
        layout: Layout::Npy,
        post_scale: Some(true),
    };
    export(&model, &ids, &out, options).unwrap();
    assert!(!out.join("item_scale.npy").exists());
    let q = npy::read_file(&out.join("Q.npy"))
        .unwrap()
        .data
        .into_f32()
        .unwrap();
    assert_eq!(
        q.iter().map(|x| x.to_bits()).collect::<Vec<_>>(),
        scaled(&model)
    );
}

#[test]
fn index_layouts_hold_scaled_items_in_the_form_each_library_reads() {
    let (model, _) = sample();
    let read = |folder: &tempfile::TempDir, name: &str| {
        floats(&std::fs::read(folder.path().join("out").join(name)).unwrap())
    };
    let (folder, names) = exported(Layout::Faiss, None);
    assert_eq!(
        names,
        [
            "items.index",
            "users.fvecs",
            "items.fvecs",
            "users.txt",
            "items.txt"
        ]
    );
    let vectors = read(&folder, "items.fvecs");
    let each: Vec<u32> = scaled(&model)
        .chunks(5)
        .flat_map(|row| [&[5], row].concat())
        .collect();
    assert_eq!(vectors, each);
    let (folder, _) = exported(Layout::Usearch, None);
    assert_eq!(
        read(&folder, "items.fbin"),
        [&[4, 5], &scaled(&model)[..]].concat()
    );
    assert_eq!(
        read(&folder, "users.fbin"),
        [&[3, 5], &bits(model.user_factors())[..]].concat()
    );
    let (folder, _) = exported(Layout::Hnswlib, Some(false));
    assert_eq!(read(&folder, "items.f32"), bits(model.item_factors()));
}

#[test]
fn tables_hold_ids_and_factors() {
    let (folder, names) = exported(Layout::Parquet, None);
    assert_eq!(names, ["users.parquet", "items.parquet"]);
    let read = |name: &str| {
        let file = std::fs::File::open(folder.path().join("out").join(name)).unwrap();
        let mut reader = ParquetRecordBatchReaderBuilder::try_new(file)
            .unwrap()
            .build()
            .unwrap();
        reader.next().unwrap().unwrap()
    };
    let (model, ids) = sample();
    let users = read("users.parquet");
    let names = users
        .column_by_name("id")
        .unwrap()
        .as_any()
        .downcast_ref::<StringArray>()
        .unwrap();
    assert!(names.iter().flatten().eq(ids.users.iter()));
    let lists = users.column_by_name("factors").unwrap();
    let lists = lists.as_any().downcast_ref::<FixedSizeListArray>().unwrap();
    let values = lists
        .values()
        .as_any()
        .downcast_ref::<Float32Array>()
        .unwrap();
    let values: Vec<u32> = values.values().iter().map(|x| x.to_bits()).collect();
    assert_eq!(values, bits(model.user_factors()));
    let items = read("items.parquet");
    let scale = items.column_by_name("scale").unwrap();
    let scale = scale.as_any().downcast_ref::<Float32Array>().unwrap();
    assert_eq!(&scale.values()[..], model.item_scale().unwrap());
}

fn fixture(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
}

#[test]
fn a_model_of_implicit_is_taken_over() {
    let (model, ids) =
        import_implicit(&fixture("implicit-als.npz"), ImportOptions::default()).unwrap();
    assert_eq!(
        (model.n_users(), model.n_items(), model.n_factors()),
        (6, 5, 3)
    );
    assert_eq!(ids, Ids::dense(6, 5));
    let params = model.params();
    assert_eq!(params.regularization.to_bits(), 0.05_f32.to_bits());
    assert_eq!(params.iterations, 4);
    assert_eq!(params.solver, Solver::AlsCg { steps: 3 }.into());
    assert_eq!(params.confidence, Confidence::Constant { weight: 2.0 });
    assert_eq!(model.weights().weight(0, 0).to_bits(), 1.0_f32.to_bits());
    // What implicit's own `recalculate_user(1, ...)` yields for a user with items 1 and 4.
    let entries = [NewEntry::new(1), NewEntry::new(4)];
    let fold_in = model.fold_in(Axis::User);
    let folded = fold_in.solve(&entries, &RowWeights::Frozen).unwrap();
    for (got, expected) in folded
        .iter()
        .zip([0.396_822_54, 0.358_901_62, 0.058_406_733])
    {
        assert!((got - expected).abs() < 1e-5, "{got} {expected}");
    }
}

#[test]
fn what_does_not_fit_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let [p, q, list] = ["P.npy", "Q.npy", "u.txt"].map(|name| folder.path().join(name));
    npy::write_file(&p, &[2, 3], &[0.5_f32; 6]).unwrap();
    npy::write_file(&q, &[2, 2], &[0.5_f32; 4]).unwrap();
    let import = |options| import_npy(&p, &q, options).unwrap_err().to_string();
    assert!(
        import(ImportOptions::default()).contains("columns of the item factors: 2, expected 3")
    );
    npy::write_file(&q, &[4, 3], &[0.5_f32; 12]).unwrap();
    std::fs::write(&list, "a\nb\nc\n").unwrap();
    let options = ImportOptions {
        users: Some(list),
        ..ImportOptions::default()
    };
    assert!(import(options).contains("u.txt: 3 user ids for 2 users"));
    let options = ImportOptions {
        item_counts: Some(vec![1]),
        ..ImportOptions::default()
    };
    assert!(import(options).contains("item counts: 1, expected 4"));
    npy::write_file(&q, &[12], &[0.5_f32; 12]).unwrap();
    assert!(import(ImportOptions::default()).contains("Q is not a table of numbers"));
    npy::write_file(&q, &[1, 3], &[0.5, f32::NAN, 0.0]).unwrap();
    assert!(import(ImportOptions::default()).contains("not finite"));
    let pickled = import_implicit(&fixture("csr.npz"), ImportOptions::default()).unwrap_err();
    assert!(pickled.to_string().contains("no array \"user_factors\""));
    assert!(import_implicit(&p, ImportOptions::default()).is_err());
}
