//! Jobs that several workers share, without a cluster.

use std::cell::Cell;
use std::fmt::Write as _;
use std::path::Path;

use absentia::Sides;
use absentia::error::Axis;
use absentia::fit::backend::{CHUNK_ROWS, RowSum};
use absentia_io::{IdMap, id_borders};
use absentia_job::{Agreed, Bundle, Event, Facts, Finished, Job, Listener, Record, Spread};
use absentia_shard::Plan;

/// Users, and items whose values can be moved by one place.
const USERS: usize = 2500;
const ITEMS: usize = 40;

/// Two files of rows. `turn` moves the items of every user: each item keeps its number of rows.
fn write(folder: &Path, turn: usize) -> Vec<String> {
    let paths = [folder.join("a.csv"), folder.join("b.csv")];
    for (half, path) in paths.iter().enumerate() {
        let mut text = "user,item,rating,timestamp\n".to_owned();
        for user in (half * USERS / 2)..((half + 1) * USERS / 2) {
            for place in 0..4 {
                let item = (user + 7 * place + turn) % ITEMS;
                let time = 1_500_000_000 + user * 10 + place;
                writeln!(text, "u{user},{item},{},{time}", 1 + place).expect("written");
            }
        }
        std::fs::write(path, text).expect("a file");
    }
    let paths = paths.iter().map(|path| path.display().to_string());
    paths.collect()
}

fn job(files: &[String], settings: &str) -> Job {
    let usual = "factors = 4\nregularization = 0.05\n";
    let mut job: Job = toml::from_str(&format!("{usual}{settings}")).expect("a job");
    job.data = files.to_vec();
    job
}

/// Every worker reads all files.
fn whole(job: &Job, workers: usize) -> Record {
    let facts = |worker| job.part(worker, workers, &()).expect("a part").facts;
    record((0..workers).map(facts).collect())
}

/// Every worker reads some of the files.
fn spread(job: &Job, workers: usize) -> Record {
    let read = |worker| Spread::read(job, (worker, workers), &()).expect("read");
    let (mut readers, opened): (Vec<Spread>, Vec<_>) = (0..workers).map(read).unzip();
    let shape = Sides::from_fn(|axis| {
        let samples: Vec<_> = opened.iter().map(|o| o.samples[axis].clone()).collect();
        number(&mut readers, axis, &id_borders(&samples, workers))
    });
    let work = Sides::from_fn(|axis: Axis| vec![1; shape[axis].div_ceil(CHUNK_ROWS)]);
    let plan = Plan::of_work(&work, workers);
    let mut bundles: Vec<Vec<Bundle>> = Vec::new();
    for reader in &mut readers {
        bundles.push(reader.bundles(plan.workers()).expect("bundles"));
    }
    let mut counts = Sides::<Vec<u32>>::default();
    for (owner, reader) in readers.iter_mut().enumerate() {
        let own = bundles.iter().map(|sent| sent[owner].clone()).collect();
        let taken = reader.take(shape, &plan.workers()[owner], own);
        let taken = taken.expect("taken");
        counts.users.extend(taken.users);
        counts.items.extend(taken.items);
    }
    let mut totals = Vec::new();
    loop {
        let (mut sum, mut facts) = (RowSum::default(), Vec::new());
        for reader in &mut readers {
            match reader.finish(&counts, &totals).expect("finished") {
                Finished::Missing(share) => sum = sum.merge(share),
                Finished::Ready(part) => facts.push(part.facts),
            }
        }
        if !facts.is_empty() {
            return record(facts);
        }
        totals.push(sum.total().expect("a sum"));
    }
}

fn number(readers: &mut [Spread], axis: Axis, borders: &[String]) -> usize {
    let cut = |reader: &Spread| reader.ids_by_range(axis, borders).expect("ids");
    let parts: Vec<Vec<IdMap>> = readers.iter().map(cut).collect();
    let mut places = Vec::new();
    for (owner, reader) in readers.iter_mut().enumerate() {
        let own: Vec<IdMap> = parts.iter().map(|sent| sent[owner].clone()).collect();
        places.push(reader.number(axis, &own).expect("numbers"));
    }
    let mut firsts = vec![0];
    for reader in readers.iter() {
        firsts.push(firsts[firsts.len() - 1] + reader.range(axis).len() as u32);
    }
    for (sender, reader) in readers.iter_mut().enumerate() {
        let of_sender: Vec<&[u32]> = places.iter().map(|own| &own[sender][..]).collect();
        let numbered = reader.renumber(axis, &firsts[..firsts.len() - 1], &of_sender);
        numbered.expect("renumbered");
    }
    firsts[firsts.len() - 1] as usize
}

fn record(facts: Vec<Facts>) -> Record {
    Agreed::of(facts).expect("agreed").record
}

fn refusal(now: &Record, then: &Record) -> String {
    let stored = then.text().expect("a text");
    let checked = now.check(Path::new("runs/sweep-00000002"), &stored);
    checked.map_or_else(|error| error.to_string(), |()| String::new())
}

const POPULARITY: &str = "weights = 'popularity:mean=0.02,alpha=0.4'";

#[test]
fn the_way_of_reading_and_the_number_of_workers_change_no_record() {
    let folder = tempfile::tempdir().expect("a folder");
    let job = job(&write(folder.path(), 0), POPULARITY);
    let expected = whole(&job, 1);
    for workers in [1, 2, 3] {
        assert_eq!(whole(&job, workers), expected, "{workers} workers");
        assert_eq!(spread(&job, workers), expected, "{workers} readers");
    }
    assert_eq!(refusal(&spread(&job, 2), &expected), "");
}

#[test]
fn other_pairs_with_the_same_counts_are_other_data() {
    let folders = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    let then = spread(&job(&write(folders[0].path(), 0), POPULARITY), 2);
    let now = spread(&job(&write(folders[1].path(), 1), POPULARITY), 2);
    let refused = refusal(&now, &then);
    assert!(
        refused.contains("runs/sweep-00000002") && refused.contains("pairs of user and item"),
        "{refused}"
    );
}

#[test]
fn other_settings_are_refused_by_key_and_value() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = write(folder.path(), 0);
    let then = spread(&job(&files, "weights = 'uniform:0.1'"), 2);
    for (settings, words) in [
        (
            POPULARITY,
            "weights uniform:0.1, this run has weights popularity:mean=0.02",
        ),
        (
            "weights = 'uniform:0.1'\nseed = 4",
            "seed 0, this run has seed 4",
        ),
        (
            "weights = 'uniform:0.1'\nmin-rating = 2",
            "pairs of user and item",
        ),
    ] {
        let refused = refusal(&spread(&job(&files, settings), 3), &then);
        assert!(
            refused.contains("runs/sweep-00000002") && refused.contains(words),
            "{refused}"
        );
    }
    assert!(refusal(&then, &whole(&job(&files, "weights = 'uniform:0.1'"), 2)).is_empty());
}

/// Counts the rows that were left out.
#[derive(Default)]
struct BadRows(Cell<u64>);

impl Listener for BadRows {
    fn event(&self, event: &Event<'_>) {
        if let Event::BadRows(rows) = event {
            self.0.set(self.0.get() + rows.count());
        }
    }
}

#[test]
fn a_reader_reports_the_rows_that_it_leaves_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = write(folder.path(), 0);
    let text = std::fs::read_to_string(&files[1]).expect("a file");
    std::fs::write(&files[1], format!("{text}u1,3,four,1500000000\n")).expect("a file");
    let job = job(&files, "skip-bad = 1");
    let left_out = [0, 1].map(|worker| {
        let heard = BadRows::default();
        Spread::read(&job, (worker, 2), &heard).expect("read");
        heard.0.get()
    });
    assert_eq!(left_out, [0, 1]);
}
