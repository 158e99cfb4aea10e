//! From a generic kernel to one function per instruction set, and the choice between them.

/// Defines, for one lane type, a function per kernel that enables its instruction set.
macro_rules! entry_points {
    ($lanes:ty, gram_rows = $gram:literal, panel_rows = $panel:literal, lane_parallel = $lane_parallel:literal $(, enable = $features:literal)?) => {
        use crate::linalg::kernels::{lane_parallel, body, quantised, entries, grams, solve, steps, transposed};

        /// The proof that every function below gives to its kernel.
        $(#[target_feature(enable = $features)])?
        #[inline]
        fn proof() -> $crate::linalg::kernels::lanes::Simd<$lanes> {
            // SAFETY: the lane type needs the features that are enabled here and no others. A caller
            // has them enabled too, or has promised that the machine has them.
            unsafe { $crate::linalg::kernels::lanes::Simd::new() }
        }

        $(#[target_feature(enable = $features)])?
        pub(super) fn peak(steps: usize, seed: f32) -> f32 {
            body::peak::<$lanes, $panel>(proof(), steps, seed)
        }

        /// Independent sums of [`peak`].
        pub(super) const PEAK_CHAINS: usize = $panel;

        $(#[target_feature(enable = $features)])?
        pub(super) fn predict(p: &[f32], gathered: body::Gathered<'_>, out: &mut [f32]) {
            body::predict::<$lanes>(proof(), p, gathered, out);
        }

        $(#[target_feature(enable = $features)])?
        pub(super) fn pack(
            picked: body::Gathered<'_>, entries: usize, factors: &[f32], lines: &mut [f32],
            columns: &mut entries::Columns<'_>,
        ) {
            entries::pack::<$lanes>(proof(), picked, entries, factors, lines, columns);
        }

        $(#[target_feature(enable = $features)])?
        pub(super) fn pick(picked: body::Gathered<'_>, at: usize, lines: &mut [f32]) {
            entries::pick::<$lanes>(proof(), picked, at, lines);
        }

        $(#[target_feature(enable = $features)])?
        pub(super) fn correct(delta: &[f32], pitch: usize, lines: &[f32], columns: &mut entries::Columns<'_>) {
            entries::correct::<$lanes>(proof(), delta, pitch, lines, columns);
        }

        $(#[target_feature(enable = $features)])?
        pub(super) fn gram(
            form: grams::Form, row: grams::RowLines<'_>, scale: f32, base: &[f32], h: &mut [f32], g: &mut [f32],
        ) {
            grams::gram::<$lanes, { $gram == 16 }>(proof(), form, row, scale, base, h, g);
        }

        $(#[target_feature(enable = $features)])?
        pub(super) fn grams(form: grams::Form, tile: grams::TileLines<'_>, h: &mut [f32], g: &mut [f32]) {
            grams::grams::<$lanes, { $gram == 16 }>(proof(), form, tile, h, g);
        }

        $(#[target_feature(enable = $features)])?
        pub(super) fn cross(d: Option<&[f32]>, left: &[f32], right: &[f32], h: &mut [f32], pitch: usize) {
            grams::cross::<$lanes, $gram>(proof(), d, left, right, h, pitch);
        }

        $(#[target_feature(enable = $features)])?
        pub(super) fn losses(c: &[f32], r: &[f32], predicted: &[f32], missing: &[f32]) -> [f64; 2] {
            entries::losses(c, r, predicted, missing)
        }

        $(#[target_feature(enable = $features)])?
        pub(super) fn scale_lines(weights: &[f32], lines: &[f32], out: &mut [f32]) {
            entries::scale_lines::<$lanes>(proof(), weights, lines, out);
        }

        $(#[target_feature(enable = $features)])?
        pub(super) fn pull_back(scales: &[f32], x: &[f32], from: entries::Place, out: &mut [f32], to: entries::Place) {
            entries::pull_back::<$lanes>(proof(), scales, x, from, out, to);
        }

        $(#[target_feature(enable = $features)])?
        pub(super) fn advance(rows: usize, steps: &[f32], from: entries::Place, x: &mut [f32], to: entries::Place) {
            entries::advance::<$lanes>(proof(), rows, steps, from, x, to);
        }

        $(#[target_feature(enable = $features)])?
        pub(super) fn square(x: &[f32]) -> f32 {
            entries::square::<$lanes>(proof(), x)
        }

        $(#[target_feature(enable = $features)])?
        pub(super) fn combine_lines(coefficients: &[f32], lines: &[f32], out: &mut [f32]) {
            entries::combine_lines::<$lanes>(proof(), coefficients, lines, out);
        }

        $(#[target_feature(enable = $features)])?
        pub(super) fn combine(coefficients: &[f32], at: usize, gathered: body::Gathered<'_>, out: &mut [f32]) {
            body::combine::<$lanes>(proof(), coefficients, at, gathered, out);
        }

        $(#[target_feature(enable = $features)])?
        pub(super) fn panel_product(x: body::StridedRows<'_>, panel: &[f32], scale: Option<&[f32]>, out: &mut [f32], pitch: usize) {
            body::panel_product::<$lanes, $panel>(proof(), x, panel, scale, out, pitch);
        }

        $(#[target_feature(enable = $features)])?
        pub(super) fn descend(rows: &steps::Quadratics<'_>, floor: f32, delta: &mut [f32]) -> Option<(usize, f32)> {
            steps::descend::<$lanes, $panel>(proof(), rows, floor, delta)
        }

        $(#[target_feature(enable = $features)])?
        pub(super) fn solve(
            rows: &steps::Quadratics<'_>, first: usize, floor: f32, work: &mut solve::Solving, delta: &mut [f32],
        ) -> solve::Solved {
            solve::solve::<$lanes>(proof(), rows, first, floor, work, delta)
        }

        $(#[target_feature(enable = $features)])?
        pub(super) fn pack_lanes(
            picked: body::Gathered<'_>, p: &[f32], weights: lane_parallel::EntryWeights<'_>, lines: &mut [f32],
            slots: &mut lane_parallel::Slots<'_>,
        ) -> bool {
            lane_parallel::pack::<$lanes, $lane_parallel>(proof(), picked, p, weights, lines, slots)
        }

        $(#[target_feature(enable = $features)])?
        pub(super) fn lane_losses(weights: lane_parallel::EntryWeights<'_>, x: lane_parallel::SteppedEntries<'_>) -> [f64; 2] {
            lane_parallel::losses::<$lanes, $lane_parallel>(proof(), weights, x)
        }

        $(#[target_feature(enable = $features)])?
        pub(super) fn spread(
            matrix: &[f32], stride: usize, picked: &[usize], copies: &mut [f32], per_row: usize, out: &mut [f32],
        ) {
            lane_parallel::spread::<$lanes>(proof(), matrix, stride, picked, copies, per_row, out);
        }

        $(#[target_feature(enable = $features)])?
        pub(super) fn descend_lanes(
            x: lane_parallel::LaneBlock<'_>, floor: f32, updates: &mut lane_parallel::LaneUpdates<'_>,
        ) -> Option<(usize, f32)> {
            lane_parallel::descend::<$lanes, $lane_parallel>(proof(), x, floor, updates)
        }

        $(#[target_feature(enable = $features)])?
        pub(super) fn dots(x: &[f32], k: usize, rows: &[u32], lines: &[f32], out: &mut [f32]) {
            entries::dots::<$lanes>(proof(), x, k, rows, lines, out);
        }

        $(#[target_feature(enable = $features)])?
        pub(super) fn solve_semidefinite(
            h: &mut [f32], pitch: usize, floor: &[f32], x: &mut [f32], column: &mut [f32],
        ) -> Option<f32> {
            body::solve_semidefinite(h, pitch, floor, x, column)
        }

        $(#[target_feature(enable = $features)])?
        pub(super) fn score(p: &[f32], q: &[f32], scale: f32) -> f32 {
            body::score::<$lanes>(proof(), p, q, scale)
        }

        $(#[target_feature(enable = $features)])?
        pub(super) fn transpose_rows(rows: transposed::ScaledRows<'_>, picked: &[u32], panel: &mut [f32]) {
            transposed::transpose_rows::<$lanes>(proof(), rows, picked, panel);
        }

        $(#[target_feature(enable = $features)])?
        pub(super) fn products(p: &[f32], rows: transposed::ScaledRows<'_>, picked: &[u32], out: &mut [f32]) {
            transposed::products::<$lanes>(proof(), p, rows, picked, out);
        }

        $(#[target_feature(enable = $features)])?
        pub(super) fn round(row: &[f32], scale: f32, bytes: &mut [i8]) -> quantised::Rounded {
            quantised::round(row, scale, bytes)
        }

        $(#[target_feature(enable = $features)])?
        pub(super) fn axpy(scale: f32, x: &[f32], y: &mut [f32]) {
            body::axpy(scale, x, y);
        }
    };
}

/// Calls a kernel of the chosen set.
macro_rules! dispatch {
    ($set:expr, $name:ident($($argument:expr),*)) => {
        match $set.get() {
            InstructionSet::Scalar => scalar::$name($($argument),*),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `Detected` holds AVX2 only if the machine reported AVX2 and FMA.
            InstructionSet::Avx2 => unsafe { avx2::$name($($argument),*) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `Detected` holds AVX-512 only if the machine reported AVX-512F, DQ and VL, AVX2 and
            // FMA.
            InstructionSet::Avx512 => unsafe { avx512::$name($($argument),*) },
            #[cfg(target_arch = "aarch64")]
            // SAFETY: NEON is part of the base instruction set of `aarch64`.
            InstructionSet::Neon => unsafe { neon::$name($($argument),*) },
            #[allow(unreachable_patterns)]
            _ => scalar::$name($($argument),*),
        }
    };
}

pub(super) use dispatch;
pub(super) use entry_points;
