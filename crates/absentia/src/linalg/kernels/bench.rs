//! The kernels as closures to be timed from outside, with what each call computes and moves.
//!
//! Not part of the library's promises: `examples/kernel_speed.rs` is the reader.

use super::{Gathered, Kernels, LANES, Panel};

/// One kernel on a problem of realistic size.
pub struct Case {
    /// Name of the kernel.
    pub name: &'static str,
    /// Fused multiply-adds that one call needs.
    pub fmas: u64,
    /// Bytes that one call reads and writes, each counted once.
    pub bytes: u64,
    run: Box<dyn FnMut() + Send>,
}

impl Case {
    /// Calls the kernel once.
    pub fn run(&mut self) {
        (self.run)();
    }
}

/// Numbers without a pattern that the processor could exploit.
fn numbers(len: usize) -> Vec<f32> {
    let mut state = 12_345_u32;
    (0..len)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        })
        .collect()
}

/// Fused multiply-adds on registers alone: the rate that no kernel can pass.
#[must_use]
pub fn peak() -> Case {
    const STEPS: usize = 1 << 20;
    let kernels = Kernels::best();
    Case {
        name: "registers alone",
        fmas: (kernels.peak_chains() * STEPS * LANES) as u64,
        bytes: 0,
        run: Box::new(move || {
            std::hint::black_box(kernels.peak(STEPS, std::hint::black_box(0.5)));
        }),
    }
}

/// A copy between two arrays that no cache holds.
#[must_use]
pub fn copy() -> Case {
    const LEN: usize = 1 << 25;
    let (from, mut to) = (vec![1.0_f32; LEN], vec![0.0_f32; LEN]);
    Case {
        name: "copy",
        fmas: 0,
        bytes: 8 * LEN as u64,
        run: Box::new(move || {
            to.copy_from_slice(std::hint::black_box(&from));
            std::hint::black_box(&mut to);
        }),
    }
}

/// The kernels of a half-sweep and of ranking for K factors, on `rows` rows of the fixed side.
#[must_use]
pub fn cases(k: usize, rows: usize) -> Vec<Case> {
    let k = k.next_multiple_of(LANES);
    let mut cases = entry_cases(k, rows);
    cases.extend(product_cases(k));
    cases
}

/// Entries of one row, gathered from anywhere in the fixed side.
fn entry_cases(k: usize, rows: usize) -> Vec<Case> {
    const ENTRIES: usize = 64;
    let make = |name, fmas: usize, window: usize, body: EntryKernel| {
        let (matrix, values) = (numbers(rows * k), numbers(k.max(ENTRIES)));
        let mut out = vec![0.0; LANES * LANES + k + ENTRIES];
        let mut indices: Vec<u32> = vec![0; ENTRIES];
        let (kernels, mut next) = (Kernels::best(), 1_u32);
        let run = move || {
            for index in &mut indices {
                next = next.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                *index = (u64::from(next) * rows as u64 >> 32) as u32;
            }
            let gathered = Gathered {
                matrix: &matrix,
                stride: k,
                indices: &indices,
            };
            body(kernels, gathered, &values, &mut out);
            std::hint::black_box(&mut out);
        };
        Case {
            name,
            fmas: (fmas * ENTRIES) as u64,
            bytes: (4 * (window + 1) * ENTRIES) as u64,
            run: Box::new(run),
        }
    };
    vec![
        make("predict", k, k, |kernels, gathered, values, out| {
            kernels.predict(&values[..gathered.stride], gathered, &mut out[..ENTRIES]);
        }),
        make("correct", LANES, LANES, |kernels, gathered, values, out| {
            kernels.correct(&values[..LANES], 0, gathered, &mut out[..ENTRIES]);
        }),
        make("combine", k, k, |kernels, gathered, values, out| {
            let k = gathered.stride;
            kernels.combine(&values[..ENTRIES], 0, gathered, &mut out[..k]);
        }),
        make(
            "gram",
            LANES * LANES,
            LANES,
            |kernels, gathered, values, out| {
                kernels.gram(&values[..ENTRIES], (0, 0), gathered, out, LANES);
            },
        ),
    ]
}

/// A kernel over the entries of a row: rows of the fixed side, numbers to read, numbers to write.
type EntryKernel = fn(Kernels, Gathered<'_>, &[f32], &mut [f32]);

/// Products with the caches and of ranking: everything in the first two levels of cache.
fn product_cases(k: usize) -> Vec<Case> {
    const ROWS: usize = 32;
    let make = |name, fmas: usize, bytes: usize, body: fn(Kernels, usize, &[f32], &mut [f32])| {
        let (values, mut out) = (numbers(ROWS * k + LANES * k), vec![0.0; ROWS * 512]);
        let kernels = Kernels::best();
        Case {
            name,
            fmas: fmas as u64,
            bytes: bytes as u64,
            run: Box::new(move || {
                body(kernels, k, &values, &mut out);
                std::hint::black_box(&mut out);
            }),
        }
    };
    let moved = 4 * (ROWS * k + LANES * k + 2 * ROWS * LANES);
    vec![make(
        "panel product",
        ROWS * k * LANES,
        moved,
        |kernels, k, values, out| {
            let x = Panel {
                values,
                stride: k,
                rows: ROWS,
                k,
            };
            kernels.panel_product(x, &values[ROWS * k..], None, out, LANES);
        },
    )]
}
