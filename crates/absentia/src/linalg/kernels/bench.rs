//! Kernels as closures for benchmarks, with the operations and bytes of each call.
//!
//! Not part of the public interface; used by `examples/kernel_speed.rs`.

use super::{
    Columns, EntryWeights, Form, Gathered, Kernels, LANES, LaneBlock, LaneUpdates, Quadratics,
    RowLines, Slots, Solving, StridedRows, packed_floats,
};
use crate::linalg::{Buffer, Dense};

/// One kernel on a problem of realistic size.
pub struct KernelCase {
    /// Name of the kernel.
    pub name: &'static str,
    /// Fused multiply-adds that one call needs.
    pub fmas: u64,
    /// Bytes that one call reads and writes, each counted once.
    pub bytes: u64,
    run: Box<dyn FnMut() + Send>,
}

impl KernelCase {
    /// Calls the kernel once.
    pub fn run(&mut self) {
        (self.run)();
    }
}

/// Fused multiply-adds on registers alone: the upper limit of every kernel's rate.
#[must_use]
pub fn peak() -> KernelCase {
    const STEPS: usize = 1 << 20;
    let kernels = Kernels::in_use();
    KernelCase {
        name: "registers alone",
        fmas: (kernels.peak_chains() * STEPS * LANES) as u64,
        bytes: 0,
        run: Box::new(move || {
            std::hint::black_box(kernels.peak(STEPS, std::hint::black_box(0.5)));
        }),
    }
}

/// A copy between two arrays that are too large for every cache.
#[must_use]
pub fn copy() -> KernelCase {
    const LEN: usize = 1 << 25;
    let (from, mut to) = (vec![1.0_f32; LEN], vec![0.0_f32; LEN]);
    KernelCase {
        name: "copy",
        fmas: 0,
        bytes: 8 * LEN as u64,
        run: Box::new(move || {
            to.copy_from_slice(std::hint::black_box(&from));
            std::hint::black_box(&mut to);
        }),
    }
}

/// Entries of the tile that the kernels work on, in rows of [`ROW`].
const ENTRIES: usize = 1024;
/// Entries of a row.
const ROW: usize = 32;
/// Rows of the tile.
const ROWS: usize = ENTRIES / ROW;
const SMALL: usize = LANES * LANES;
/// Slots of a lane-parallel group.
const SLOTS: usize = 24;
/// Entries of a lane-parallel group.
pub const LANE_ENTRIES: usize = SLOTS * LANES;
/// Name of the case that does what a lane-parallel half-sweep of `eals` does with entries: packing
/// them, and steps along all coordinates while the rows of the next group are prefetched.
pub const ENTRY_PART: &str = "entry part";
/// Multiply-adds that packing an entry needs on sixteen coordinates: its scale and its prediction.
pub const PACK_FMAS: usize = 2 * LANES;
/// Multiply-adds that steps on sixteen coordinates need of an entry, four at a time: for each four,
/// ten products, four pulls, and the error's correction by four steps.
pub const STEP_FMAS: usize = 4 * (10 + 4 + 4);

/// Everything that kernels read and write.
struct KernelProblem {
    k: usize,
    /// The fixed side.
    fixed: Dense,
    /// Rows of the tile, and a panel of the cache.
    factors: Dense,
    panel: Buffer,
    indices: Vec<u32>,
    rows: Vec<u32>,
    d: Buffer,
    predicted: Buffer,
    error: Buffer,
    lines: Buffer,
    base: Buffer,
    h: Buffer,
    out: Buffer,
    steps: Buffer,
    solving: Solving,
    seed: u32,
}

impl KernelProblem {
    fn new(k: usize, rows: usize) -> Self {
        let mut state = 12_345_u32;
        let mut number = move |_: usize, _: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        };
        let mut fill = |len: usize| {
            let mut buffer = Buffer::default();
            for slot in buffer.room(len) {
                *slot = number(0, 0);
            }
            buffer
        };
        Self {
            k,
            panel: fill(k * LANES),
            d: fill(ENTRIES),
            predicted: fill(ENTRIES),
            error: fill(ENTRIES),
            lines: fill(ENTRIES * k),
            base: fill(SMALL + ROWS * LANES),
            h: fill(ROWS * SMALL),
            out: fill(ROWS * LANES + k),
            steps: fill(k * LANES),
            solving: Solving::default(),
            fixed: Dense::from_fn(rows, k, &mut number),
            factors: Dense::from_fn(ROWS, k, &mut number),
            indices: vec![0; ENTRIES],
            rows: (0..ENTRIES).map(|n| (n / ROW) as u32).collect(),
            seed: 1,
        }
    }

    /// Picks other rows of the fixed side, so that no cache still holds those of the previous call.
    fn pick_anew(&mut self, range: std::ops::Range<usize>) {
        for index in &mut self.indices[range] {
            self.seed = self
                .seed
                .wrapping_mul(1_664_525)
                .wrapping_add(1_013_904_223);
            *index = ((u64::from(self.seed) * self.fixed.rows() as u64) >> 32) as u32;
        }
    }

    fn gathered(&self) -> Gathered<'_> {
        Gathered {
            matrix: self.fixed.as_slice(),
            stride: self.k,
            indices: &self.indices,
        }
    }
}

/// The kernels of a half-sweep and of ranking for K factors, on `rows` rows of the fixed side.
#[must_use]
pub fn cases(k: usize, rows: usize) -> Vec<KernelCase> {
    let k = k.next_multiple_of(LANES);
    let case = |name, fmas: usize, floats: usize, body: fn(Kernels, &mut KernelProblem)| {
        let mut problem = KernelProblem::new(k, rows);
        KernelCase {
            name,
            fmas: fmas as u64,
            bytes: 4 * floats as u64,
            run: Box::new(move || {
                body(Kernels::in_use(), &mut problem);
                std::hint::black_box(&mut problem);
            }),
        }
    };
    vec![
        case(
            ENTRY_PART,
            LANE_ENTRIES * k / LANES * (PACK_FMAS + STEP_FMAS),
            LANE_ENTRIES * k,
            entry_part,
        ),
        case(
            "pack lanes",
            LANE_ENTRIES * k / LANES * PACK_FMAS,
            2 * LANE_ENTRIES * k,
            pack_lanes,
        ),
        case(
            "steps lanes",
            LANE_ENTRIES * STEP_FMAS,
            LANE_ENTRIES * (LANES + 2),
            |kernels, problem| descend_lanes(kernels, problem, 0),
        ),
        case("gather and predict", ENTRIES * k, 2 * ENTRIES * k, pack),
        case(
            "square gram",
            ENTRIES * (12 * LANES + LANES),
            ENTRIES * LANES,
            |kernels, problem| gram(kernels, problem, Form::Square),
        ),
        case(
            "folded gram",
            ENTRIES * (Form::Folded.floats() + LANES),
            ENTRIES * LANES,
            |kernels, problem| gram(kernels, problem, Form::Folded),
        ),
        case("coordinate steps", ROWS * SMALL, ROWS * SMALL, descend),
        // A sixth of a cube to factorise, half a square for each triangle and for the check.
        case(
            "block solves",
            ROWS * (LANES * SMALL / 6 + 2 * SMALL),
            ROWS * SMALL,
            solve,
        ),
        case("correct", ENTRIES * LANES, ENTRIES * (LANES + 5), correct),
        case(
            "panel product",
            ROWS * LANES * k,
            ROWS * k + LANES * k,
            panel,
        ),
        case("cache product", 128 * SMALL, 2 * 128 * LANES, cache),
        case("predict", ENTRIES * k, ENTRIES * k, predict),
        case("combine", ENTRIES * k, ENTRIES * k, combine),
    ]
}

/// The columns of the entries, the lines, and what else a kernel reads.
fn columns(problem: &mut KernelProblem) -> (Columns<'_>, &mut Buffer, Gathered<'_>, &Dense) {
    let columns = Columns {
        rows: &problem.rows,
        d: problem.d.as_slice(),
        pull: problem.d.as_slice(),
        predicted: problem.predicted.room(ENTRIES),
        error: problem.error.room(ENTRIES),
    };
    let picked = Gathered {
        matrix: problem.fixed.as_slice(),
        stride: problem.k,
        indices: &problem.indices,
    };
    (columns, &mut problem.lines, picked, &problem.factors)
}

fn pack(kernels: Kernels, problem: &mut KernelProblem) {
    problem.pick_anew(0..ENTRIES);
    let size = ENTRIES * problem.k;
    let (mut columns, lines, picked, factors) = columns(problem);
    let (lines, factors) = (lines.room(size), factors.as_slice());
    kernels.pack(picked, ENTRIES, factors, lines, &mut columns);
}

fn entry_part(kernels: Kernels, problem: &mut KernelProblem) {
    // This call packs what the previous one prefetched.
    problem
        .indices
        .copy_within(LANE_ENTRIES..2 * LANE_ENTRIES, 0);
    problem.pick_anew(LANE_ENTRIES..2 * LANE_ENTRIES);
    transpose_rows(kernels, problem);
    for block in 0..problem.k / LANES {
        descend_lanes(kernels, problem, block);
    }
}

fn pack_lanes(kernels: Kernels, problem: &mut KernelProblem) {
    problem.pick_anew(0..LANE_ENTRIES);
    transpose_rows(kernels, problem);
}

fn transpose_rows(kernels: Kernels, problem: &mut KernelProblem) {
    let size = packed_floats(SLOTS, problem.k);
    let mut p = std::mem::take(&mut problem.steps);
    let mut d = std::mem::take(&mut problem.d);
    let (columns, lines, picked, _) = columns(problem);
    let weights = EntryWeights {
        a: &[0.5; LANES],
        // One per row of the fixed side.
        b: &picked.matrix[..picked.matrix.len() / picked.stride],
        c: &[1.0],
        r: &[1.0],
        held: &[SLOTS as f32; LANES],
    };
    let mut slots = Slots {
        left: &mut d.room(ENTRIES)[..LANE_ENTRIES],
        error: &mut columns.error[..LANE_ENTRIES],
        loss: None,
    };
    let p_lanes = p.room(picked.stride * LANES);
    kernels.pack_lanes(picked, p_lanes, weights, lines.room(size), &mut slots);
    (problem.steps, problem.d) = (p, d);
}

fn descend_lanes(kernels: Kernels, problem: &mut KernelProblem, block: usize) {
    let lines = packed_floats(SLOTS, problem.k);
    problem.lines.room(lines);
    let x = LaneBlock {
        block,
        per_row: 1,
        lines: problem.lines.as_slice(),
        next: Gathered {
            matrix: problem.fixed.as_slice(),
            stride: problem.k,
            indices: &problem.indices[LANE_ENTRIES..2 * LANE_ENTRIES],
        },
        left: None,
        p: problem.panel.as_slice(),
        penalty: &[100.0; LANES],
        weights: &[0.5; LANES],
        diagonals: &problem.base.as_slice()[..SMALL],
        g: &problem.h.as_slice()[..SMALL],
    };
    let mut updates = LaneUpdates {
        steps: problem.steps.room(problem.k * LANES),
        error: &mut problem.error.room(ENTRIES)[..LANE_ENTRIES],
        factors: &mut problem.factors.as_mut_slice()[..LANES * problem.k],
    };
    std::hint::black_box(kernels.descend_lanes(x, 1e-7, &mut updates));
}

fn gram(kernels: Kernels, problem: &mut KernelProblem, form: Form) {
    let (h, g) = (problem.h.room(ROWS * SMALL), problem.out.room(ROWS * LANES));
    let rows = h.chunks_exact_mut(SMALL).zip(g.chunks_exact_mut(LANES));
    for (at, (h, g)) in rows.enumerate() {
        let range = at * ROW..(at + 1) * ROW;
        let row = RowLines {
            d: &problem.d.as_slice()[range.clone()],
            error: &problem.error.as_slice()[range.clone()],
            lines: &problem.lines.as_slice()[range.start * LANES..range.end * LANES],
            next: Gathered {
                matrix: problem.fixed.as_slice(),
                stride: problem.k,
                indices: &[],
            },
            at: 0,
        };
        kernels.gram(form, row, 0.5, problem.base.as_slice(), h, g);
    }
}

fn descend(kernels: Kernels, problem: &mut KernelProblem) {
    let quadratics = Quadratics {
        h: problem.h.as_slice(),
        base: problem.base.as_slice(),
        penalty: &problem.d.as_slice()[..ROWS],
        g: problem.lines.as_slice(),
    };
    let delta = problem.out.room(ROWS * LANES);
    std::hint::black_box(kernels.descend(&quadratics, 1e-7, delta));
}

fn solve(kernels: Kernels, problem: &mut KernelProblem) {
    let quadratics = Quadratics {
        h: problem.h.as_slice(),
        base: problem.base.as_slice(),
        penalty: &[100.0; ROWS],
        g: problem.lines.as_slice(),
    };
    let (delta, work) = (problem.out.room(ROWS * LANES), &mut problem.solving);
    for first in (0..ROWS).step_by(LANES) {
        std::hint::black_box(kernels.solve(&quadratics, first, 1e-7, work, delta));
    }
}

fn correct(kernels: Kernels, problem: &mut KernelProblem) {
    let delta = std::mem::take(&mut problem.out);
    let (mut columns, lines, ..) = columns(problem);
    kernels.correct(delta.as_slice(), LANES, lines.as_slice(), &mut columns);
    problem.out = delta;
}

fn panel(kernels: Kernels, problem: &mut KernelProblem) {
    let x = StridedRows {
        values: problem.factors.as_slice(),
        stride: problem.k,
        rows: ROWS,
        k: problem.k,
    };
    let out = problem.out.room(ROWS * LANES);
    kernels.panel_product(x, problem.panel.as_slice(), None, out, LANES);
}

fn cache(kernels: Kernels, problem: &mut KernelProblem) {
    let (left, right) = problem.lines.as_slice()[..2 * 128 * LANES].split_at(128 * LANES);
    kernels.cross(None, left, right, problem.h.room(SMALL), LANES);
}

fn predict(kernels: Kernels, problem: &mut KernelProblem) {
    problem.pick_anew(0..ENTRIES);
    let mut out = std::mem::take(&mut problem.predicted);
    let p = problem.factors.padded_row(0);
    kernels.predict(p, problem.gathered(), out.room(ENTRIES));
    problem.predicted = out;
}

fn combine(kernels: Kernels, problem: &mut KernelProblem) {
    problem.pick_anew(0..ENTRIES);
    let mut out = std::mem::take(&mut problem.out);
    let coefficients = problem.d.as_slice();
    let room = out.room(problem.k);
    kernels.combine(coefficients, 0, problem.gathered(), room);
    problem.out = out;
}
