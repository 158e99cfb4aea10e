//! The same text means the same run, whether it is a flag, a key of a configuration file or a setting
//! that Python sends.
#![cfg(feature = "clap")]

use std::collections::BTreeSet;
use std::path::Path;

use absentia::Params;
use absentia_io::time::TimeUnit;
use absentia_job::text::ByteSize;
use absentia_job::{ConfigFile, Execution, Job, JobError, Rows, TrainingData, read_files};
use clap::{CommandFactory as _, Parser as _};

/// A command line with a job, and a flag that every command has.
#[derive(Debug, clap::Parser)]
struct Line {
    #[command(flatten)]
    job: Job,
    #[arg(long)]
    memory_limit: Option<ByteSize>,
}

fn of_flags(key: &str, text: &str) -> Option<Job> {
    let words = ["test", "ratings.csv", &format!("--{key}={text}")];
    let mut line = Line::try_parse_from(words).ok()?;
    line.job.settings.memory_limit = line.memory_limit;
    Some(line.job)
}

fn of_file(folder: &Path, key: &str, text: &str) -> Option<Job> {
    let path = folder.join("run.toml");
    let written = format!("data = 'ratings.csv'\n{key} = '{text}'\n");
    std::fs::write(&path, written).expect("written");
    ConfigFile::read(&path).and_then(|file| file.job()).ok()
}

fn of_json(key: &str, text: &str) -> Option<Job> {
    let json = serde_json::json!({"data": "ratings.csv", (key): text});
    serde_json::from_str(&json.to_string()).ok()
}

/// Texts of every twin, and whether they are accepted.
const TEXTS: [(&str, &str, bool); 50] = [
    ("solver", "eals", true),
    ("solver", "subspace:32", true),
    ("solver", "itemknn:7", true),
    ("solver", "svd", true),
    ("solver", "als:3", false),
    ("solver", "EALS", false),
    ("targets", "binary", true),
    ("targets", "normalized:0.35", true),
    ("targets", "normalized:0.35,0.1", true),
    ("targets", "raw:junk", false),
    ("targets", "normalized", false),
    ("targets", "rough", false),
    ("confidence", "2.5", true),
    ("confidence", "linear:40", true),
    ("confidence", "log:10", true),
    ("confidence", "log:10,0.5", true),
    ("confidence", "decay:30d", true),
    ("confidence", "decay:30", false),
    ("confidence", "decay:soon", false),
    ("confidence", "column", true),
    ("confidence", "column:junk", false),
    ("init", "P.npy,Q.npy", true),
    ("confidence", "linear", false),
    ("weights", "popularity:mean=0.02,alpha=0.25", true),
    ("weights", "uniform:0.1", true),
    ("weights", "uniform:nan", false),
    ("weights", "popularty:mean=1,alpha=0", false),
    ("relation", "items-tags:tags.csv,strength=0.3", true),
    ("relation", "items:tags.csv", false),
    ("since", "2020-02-29", true),
    ("since", "2020-02-29T14:00:01+02:00", true),
    ("since", "2020-02-31", false),
    ("since", "yesterday", false),
    ("user-col", "who", true),
    ("user-col", "2", true),
    ("memory-limit", "8GiB", true),
    ("memory-limit", "plenty", false),
    ("valid-split", "leave-one-out", true),
    ("valid-split", "time:2020-01-31", true),
    ("valid-split", "time:0.1", true),
    ("post-scale-half-life", "30d", true),
    ("post-scale-half-life", "30", false),
    ("valid-split", "half", false),
    ("valid-every", "0", false),
    ("k-core", "5,10", true),
    ("device", "cpu", true),
    ("device", "cuda:0", false),
    ("device", "avx2", false),
    ("preset", "plays", true),
    ("preset", "films", false),
];

#[test]
fn flags_files_and_python_read_one_text_alike() {
    let folder = tempfile::tempdir().expect("a folder");
    for (key, text, accepted) in TEXTS {
        let flags = of_flags(key, text).map(|job| job.with_preset().expect("a preset"));
        let file = of_file(folder.path(), key, text);
        let json = of_json(key, text).map(|job| job.with_preset().expect("a preset"));
        assert_eq!(flags.is_some(), accepted, "--{key} {text}");
        assert_eq!(flags, file, "{key} = {text}");
        assert_eq!(flags, json, "{key}: {text}");
    }
}

/// A key without a flag, or a flag without a key, would be a setting of one front end alone.
#[test]
fn every_key_is_a_flag_and_every_flag_is_a_key() {
    let command = Line::command();
    let flag = |arg: &clap::Arg| match arg.get_long() {
        Some(long) => long.to_owned(),
        None => arg.get_id().to_string(),
    };
    let mut flags: BTreeSet<String> = command.get_arguments().map(flag).collect();
    // Every command has this one.
    flags.insert("threads".to_owned());
    let keys = Job::keys();
    assert_eq!(keys.iter().cloned().collect::<BTreeSet<_>>(), flags);
    assert_eq!(keys.len(), flags.len(), "a key occurs twice");
}

#[test]
fn what_is_written_reads_back_as_the_same_job() {
    for (key, text, accepted) in TEXTS {
        if let Some(job) = of_json(key, text).filter(|_| accepted) {
            let written = toml::to_string(&job).expect("written");
            let read: Job = toml::from_str(&written).expect("read");
            assert_eq!(read, job, "{written}");
        }
    }
}

/// Without weights, every method gets weights that it takes.
#[test]
fn every_method_runs_with_its_own_weights() -> Result<(), JobError> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ratings.csv");
    let rows: Vec<String> = (0..120)
        .map(|n| format!("{},{}\n", n % 12, n * n % 17))
        .collect();
    std::fs::write(&path, format!("user,item\n{}", rows.concat())).expect("written");
    for method in absentia::Method::ALL {
        let mut job = Job {
            data: vec![path.to_string_lossy().into_owned()],
            solver: Some(method),
            threads: Some(1),
            ..Job::default()
        };
        job.settings.factors = Some(4);
        job.settings.iterations = Some(2);
        let data = job.read(&())?;
        let mut training = job.training(data.input())?;
        training.choose(&absentia::fit::Cancel::new(), &())?;
        let fitted = training.fit(Execution::default())?;
        // The job of the run repeats it without choosing anything.
        let again = job.as_run(&training);
        let text = toml::to_string(&again).expect("written");
        let again: Job = toml::from_str(&text).expect("read");
        assert_eq!(again.automatic(), absentia_job::Automatic::default());
        let mut training = again.training(data.input())?;
        let repeated = training.fit(Execution::default())?;
        assert_eq!(
            fitted.model.user_factors().row(0),
            repeated.model.user_factors().row(0),
            "{method}"
        );
    }
    Ok(())
}

#[test]
fn a_run_that_does_not_fit_is_refused_before_it_starts() -> Result<(), JobError> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ratings.csv");
    std::fs::write(&path, "user,item\na,x\nb,x\nb,y\n").expect("written");
    let mut job = Job {
        data: vec![path.to_string_lossy().into_owned()],
        ..Job::default()
    };
    job.settings.memory_limit = Some("1KiB".parse().expect("a size"));
    let data = job.read(&())?;
    let mut training = job.training(data.input())?;
    let refused = training.fit(Execution::default());
    let is_memory = matches!(
        refused,
        Err(JobError::Fit(absentia::fit::FitError::Memory {
            limit: 1024,
            ..
        }))
    );
    assert!(is_memory, "{refused:?}");
    Ok(())
}

/// Python passes tables in memory.
#[test]
fn rows_in_memory_are_prepared_like_those_of_a_file() -> Result<(), JobError> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ratings.csv");
    let row = |n: u32| format!("{},{},{},{}\n", n % 12, n * n % 17, n % 5, 86_400 * n);
    let rows: String = (0..120).map(row).collect();
    std::fs::write(&path, format!("user,item,rating,time\n{rows}")).expect("written");
    for (key, text) in [
        ("min-rating", "3"),
        ("k-core", "8,4"),
        ("since", "1970-03-01"),
        ("sample", "users:0.5"),
        ("time-unit", "ms"),
        ("valid-split", "last:1"),
    ] {
        let mut job: Job = toml::from_str("duplicates = 'max'").expect("a job");
        job.data = vec![path.to_string_lossy().into_owned()];
        let all = job.read(&())?.data.len();
        let as_read = read_files(&job.data, &job.reading, &())?;
        job.set(key, &text.into())?;
        let (read, in_memory) = (job.read(&())?, Rows::of_table(as_read, &job.reading)?);
        let in_memory = job.prepare(in_memory, &())?;
        let entries = |data: &TrainingData| {
            let matrix = data.data.by_user();
            let values: Vec<f32> = (0..matrix.len())
                .map(|at| matrix.targets().get(at))
                .collect();
            let times = data.data.times().map(<[i64]>::to_vec);
            (
                matrix.offsets().to_vec(),
                matrix.indices().to_vec(),
                values,
                times,
            )
        };
        assert_eq!(entries(&read), entries(&in_memory), "{key}");
        assert_eq!(read.ids, in_memory.ids, "{key}");
        assert_eq!(read.held_out.is_some(), in_memory.held_out.is_some());
        assert!(
            read.data.len() < all || key == "time-unit",
            "{key} has no effect"
        );
    }
    Ok(())
}

#[test]
fn nothing_given_is_the_table_of_defaults() {
    let job: Job = toml::from_str("").expect("a job");
    assert_eq!(job.params(TimeUnit::default()), Params::default());
    let mut spelled_out = Job::default();
    for (key, text) in absentia_job::defaults::table() {
        spelled_out
            .set(key, &text.as_str().into())
            .expect("a default can be set");
    }
    assert_eq!(
        spelled_out.params(TimeUnit::default()),
        job.params(TimeUnit::default())
    );
    assert_eq!(spelled_out.weights().ok(), job.weights().ok());
    assert_eq!(spelled_out.validation.metric(), job.validation.metric());
}
