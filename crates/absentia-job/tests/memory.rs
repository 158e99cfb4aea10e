//! The estimated peak of a job against what the allocator counts.
//!
//! `cargo xtask memory` measures the program at larger sizes.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use absentia::fit::{Cancel, FitError};
use absentia_job::{Execution, Job, JobError, Ledger};

/// How far an estimate may be from the peak.
const MARGIN: f64 = 0.15;

static HELD: AtomicU64 = AtomicU64::new(0);
static PEAK: AtomicU64 = AtomicU64::new(0);

struct Counting;

fn taken(bytes: usize) {
    let held = HELD.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
    PEAK.fetch_max(held, Ordering::Relaxed);
}

fn given_back(bytes: usize) {
    HELD.fetch_sub(bytes as u64, Ordering::Relaxed);
}

// SAFETY: every call goes to the system's allocator as it came; only sizes are counted.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        taken(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        taken(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        given_back(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(start, layout) }
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // The kernel moves large blocks without copying them.
        taken(size.saturating_sub(layout.size()));
        given_back(layout.size().saturating_sub(size));
        // SAFETY: the caller's promise.
        unsafe { System.realloc(start, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Random rows, by user.
fn write_rows(path: &Path, users: u64, items: u64, rows: u64) {
    let (mut text, mut state) = (String::from("user,item\n"), 1_u64);
    for row in 0..rows {
        state = state
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        let (user, item) = (row * users / rows, (state >> 33) % items);
        writeln!(text, "{user},{item}").expect("memory");
    }
    std::fs::write(path, text).expect("written");
}

/// The job of some keys on a file.
fn job(path: &Path, keys: &str) -> Job {
    let mut job: Job = toml::from_str(keys).expect("a job");
    job.data = vec![path.display().to_string()];
    job.threads = Some(2);
    job
}

fn run(job: &Job, ledger: &Ledger) -> Result<(), JobError> {
    let data = job.read(ledger)?;
    let mut training = job.training(data.input())?;
    training.choose(&Cancel::new(), ledger)?;
    training.fit(Execution::default())?;
    Ok(())
}

/// The estimated and the counted peak of a job in bytes.
fn peaks(job: &Job) -> (f64, f64) {
    let before = HELD.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let ledger = Ledger::new(Some(u64::MAX));
    run(job, &ledger).expect("a model");
    let peak = PEAK.load(Ordering::Relaxed) - before;
    (ledger.largest().total() as f64, peak as f64)
}

/// All cases are in one test, for the counts are those of the whole process.
#[test]
fn estimates_are_near_the_peak_and_limits_hold() {
    let folder = tempfile::tempdir().expect("a folder");
    let (pairs, wide) = (
        folder.path().join("pairs.csv"),
        folder.path().join("wide.csv"),
    );
    write_rows(&pairs, 40_000, 5_000, 2_000_000);
    write_rows(&wide, 4_000, 10_000, 200_000);
    let cases = [
        (
            "rows that are read",
            &pairs,
            "factors = 8\nregularization = 0.1\niterations = 1",
        ),
        ("item neighbours", &wide, "solver = 'itemknn:200'"),
        (
            "choosing settings",
            &wide,
            "factors = 64\niterations = 1\nweights = 'uniform:0.1'",
        ),
        (
            "many factors",
            &wide,
            "factors = 256\nregularization = 0.1\niterations = 1",
        ),
    ];
    let mut report = String::new();
    let mut is_near = true;
    for (name, path, keys) in cases {
        let job = job(path, keys);
        let (estimated, peak) = peaks(&job);
        let ratio = estimated / peak;
        let (estimate, counted) = (estimated / 1e6, peak / 1e6);
        writeln!(
            report,
            "{name}: {estimate:.1} MB of {counted:.1} MB, {ratio:.2}"
        )
        .expect("text");
        is_near &= (ratio - 1.0).abs() <= MARGIN;

        let limit = (peak * 0.8) as u64;
        let refused = run(&job, &Ledger::new(Some(limit)));
        let is_memory = matches!(refused, Err(JobError::Fit(FitError::Memory { .. })));
        assert!(is_memory, "{name}: {refused:?} with 80 % of what it takes");
    }
    assert!(is_near, "{report}");

    // Going by the size of the file, nothing of it is read.
    let ledger = Ledger::new(Some(4 << 20));
    let read = job(&pairs, "").read(&ledger);
    assert!(matches!(read, Err(JobError::Fit(FitError::Memory { .. }))));
    assert_eq!(ledger.largest().total(), 0);
}
