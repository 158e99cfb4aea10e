//! Every kernel: what it does, its arguments, and the generic function that computes it.
//!
//! From this one table come, for each instruction set, functions that enable it, and the methods of
//! [`Kernels`](super::Kernels) that choose between them.

/// Gives the table of kernels to another macro, after what that macro needs for itself.
///
/// The generic functions are named with the lane type `L` and the constants of the instruction set. Each
/// takes the proof that the set is there before its other arguments.
macro_rules! kernels {
    ($then:ident! $own:tt) => {
        $then! { $own
            /// Multiplies and adds in registers alone, `steps` times in each of
            /// [`peak_chains`](Self::peak_chains) independent sums.
            peak(steps: usize, seed: f32) -> f32 => body::peak::<L, PANEL_ROWS>;

            /// Number of independent sums of `peak`.
            peak_chains() -> usize => body::peak_chains::<L, PANEL_ROWS>;

            /// `out[n] = p · q_n` for every gathered row.
            predict(p: &[f32], gathered: Gathered<'_>, out: &mut [f32]) => body::predict::<L>;

            /// Copies the rows of the first `entries` picks into lines, block after block, and predicts.
            pack(
                picked: Gathered<'_>, entries: usize, factors: &[f32], lines: &mut [f32],
                columns: &mut Columns<'_>
            ) => entries::pack::<L>;

            /// Copies sixteen coordinates, from `at`, of every picked row into lines.
            pick(picked: Gathered<'_>, at: usize, lines: &mut [f32]) => entries::pick::<L>;

            /// `p·q += δ_row · line` for every entry, and the same for its error. The sixteen steps of each
            /// row start a `pitch` after those of the previous row.
            correct(delta: &[f32], pitch: usize, lines: &[f32], columns: &mut Columns<'_>)
                => entries::correct::<L>;

            /// `h = scale · base + Σ d q qᵀ` (the half that its form stores) and `g += Σ error q` over a row's entries.
            gram(
                form: Form, row: RowLines<'_>, scale: f32, base: &[f32], h: &mut [f32],
                g: &mut [f32]
            ) => grams::gram::<L, { GRAM_ROWS == LANES }>;

            /// The same for every row of a tile.
            grams(form: Form, tile: TileLines<'_>, h: &mut [f32], g: &mut [f32])
                => grams::grams::<L, { GRAM_ROWS == LANES }>;

            /// `h += Σ d left rightᵀ` over lines, a whole `16 × 16` block whose rows are a `pitch` apart.
            cross(d: Option<&[f32]>, left: &[f32], right: &[f32], h: &mut [f32], pitch: usize)
                => grams::cross::<L, GRAM_ROWS>;

            /// `Σ c (r − p·q)²` and `Σ (a·b) (p·q)²`; a single `c` or `r` applies to all entries.
            losses(c: &[f32], r: &[f32], predicted: &[f32], missing: &[f32]) -> [f64; 2]
                => entries::losses::<L>;

            /// Each line multiplied by its weight; after the last weight follows the first again.
            scale_lines(weights: &[f32], lines: &[f32], out: &mut [f32])
                => entries::scale_lines::<L>;

            /// `out = −scale · x` on sixteen coordinates of every row that has a scale.
            pull_back(scales: &[f32], x: &[f32], from: Place, out: &mut [f32], to: Place)
                => entries::pull_back::<L>;

            /// `x += steps` on sixteen coordinates of the first `rows` rows.
            advance(rows: usize, steps: &[f32], from: Place, x: &mut [f32], to: Place)
                => entries::advance::<L>;

            /// `|x|²` of whole lanes.
            square(x: &[f32]) -> f32 => entries::square::<L>;

            /// `out += Σ_n coefficients[n] · line_n`.
            combine_lines(coefficients: &[f32], lines: &[f32], out: &mut [f32])
                => entries::combine_lines::<L>;

            /// `out += Σ_n coefficients[n] q_n[at..]`, `out` as wide as a window.
            combine(coefficients: &[f32], at: usize, gathered: Gathered<'_>, out: &mut [f32])
                => body::combine::<L>;

            /// `out[row] += scale[row] · x[row] · panel` for a `k × 16` panel, rows of `out` a `pitch` apart.
            panel_product(
                x: StridedRows<'_>, panel: &[f32], scale: Option<&[f32]>, out: &mut [f32],
                pitch: usize
            ) => body::panel_product::<L, PANEL_ROWS>;

            /// Sixteen coordinate steps of every row; yields the first row whose curvature is negative.
            ///
            /// Curvature that is not above `floor` times what missing entries contribute to it leaves its
            /// coordinate unchanged.
            descend(rows: &Quadratics<'_>, floor: f32, delta: &mut [f32]) -> Option<(usize, f32)>
                => steps::descend::<L, PANEL_ROWS>;

            /// Exact minima of up to sixteen rows from `first`, whose matrices are folded. All slices but that
            /// of the penalties must have room for sixteen rows.
            solve(
                rows: &Quadratics<'_>, first: usize, floor: f32, work: &mut Solving,
                delta: &mut [f32]
            ) -> Solved => solve::solve::<L>;

            /// Packs gathered rows for lane-parallel steps, weighs their entries and predicts. Yields whether
            /// every entry is scaled by its weight.
            pack_lanes(
                picked: Gathered<'_>, p: &[f32], weights: EntryWeights<'_>, lines: &mut [f32],
                slots: &mut Slots<'_>
            ) -> bool => lane_parallel::pack::<L, LANE_PARALLEL>;

            /// `Σ c (r − p·q)²` and `Σ (a·b) (p·q)²` over the entries of a lane-parallel group.
            lane_losses(weights: EntryWeights<'_>, x: SteppedEntries<'_>) -> [f64; 2]
                => lane_parallel::losses::<L, LANE_PARALLEL>;

            /// Copies some rows of a matrix, and transposes them: one line of lanes per coordinate, `per_row`
            /// lanes per row.
            spread(
                matrix: &[f32], stride: usize, picked: &[usize], copies: &mut [f32],
                per_row: usize, out: &mut [f32]
            ) => lane_parallel::spread::<L>;

            /// Lane-parallel coordinate steps on one block; yields the first row whose curvature is negative.
            descend_lanes(
                x: LaneBlock<'_>, floor: f32, updates: &mut LaneUpdates<'_>
            ) -> Option<(usize, f32)> => lane_parallel::descend::<L, LANE_PARALLEL>;

            /// `out[n] = x_row · q_n` for packed entries, `x` having a row of K per row of the tile.
            dots(x: &[f32], k: usize, rows: &[u32], lines: &[f32], out: &mut [f32])
                => entries::dots::<L>;

            /// Solves `h · solution = x` in place for a positive semidefinite `h`, of which it reads and
            /// overwrites the lower triangle; `column` is scratch.
            ///
            /// A pivot that is not above its `floor` counts as zero and leaves its unknown at 0. Yields the
            /// first pivot below minus its floor, if any: then `h` was not positive semidefinite.
            solve_semidefinite(
                h: &mut [f32], pitch: usize, floor: &[f32], x: &mut [f32], column: &mut [f32]
            ) -> Option<f32> => body::solve_semidefinite::<L>;

            /// `p · (q · scale)` with the bits that [`panel_product`](Self::panel_product) gives.
            score(p: &[f32], q: &[f32], scale: f32) -> f32 => body::score::<L>;

            /// Writes up to sixteen rows into a `k × 16` panel.
            transpose_rows(rows: ScaledRows<'_>, picked: &[u32], panel: &mut [f32])
                => transposed::transpose_rows::<L>;

            /// `p · row` of every picked row, with the bits of [`panel_product`](Self::panel_product).
            products(p: &[f32], rows: ScaledRows<'_>, picked: &[u32], out: &mut [f32])
                => transposed::products::<L>;

            /// `y += scale · x`.
            axpy(scale: f32, x: &[f32], y: &mut [f32]) => body::axpy::<L>;

            /// Rounds the row times `scale` to bytes.
            round(row: &[f32], scale: f32, bytes: &mut [i8]) -> Rounded => quantised::round::<L>;
        }
    };
}

/// Defines, for one lane type, a function per kernel that enables its instruction set.
macro_rules! entry_points {
    ($lanes:ty, gram_rows = $gram:literal, panel_rows = $panel:literal, lane_parallel = $lane_parallel:literal, $enable:tt) => {
        use super::entry_points::{functions, kernels};
        use super::{body, entries, grams, lane_parallel, quantised, solve, steps, transposed};
        use super::{
            Columns, EntryWeights, Form, Gathered, LaneBlock, LaneUpdates, Place, Quadratics, RowLines,
            Rounded, ScaledRows, Slots, Solved, Solving, SteppedEntries, StridedRows, TileLines,
        };

        type L = $lanes;
        const GRAM_ROWS: usize = $gram;
        const LANE_PARALLEL: usize = $lane_parallel;
        const PANEL_ROWS: usize = $panel;

        /// The proof that every function below gives to its kernel.
        # $enable
        #[inline]
        fn proof() -> $crate::linalg::kernels::lanes::Simd<L> {
            // SAFETY: the lane type needs the features that are enabled here and no others. A caller
            // has them enabled too, or has promised that the machine has them.
            unsafe { $crate::linalg::kernels::lanes::Simd::new() }
        }

        kernels!(functions! $enable);
    };
}

/// The kernels of one instruction set.
macro_rules! functions {
    ($enable:tt $($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? => $kernel:expr;)*) => {
        $(
            # $enable
            pub(super) fn $name($($argument: $type),*) $(-> $result)? {
                $kernel(proof(), $($argument),*)
            }
        )*
    };
}

/// The methods of `Kernels`: each calls the kernel of the chosen set.
macro_rules! methods {
    ([] $($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? => $kernel:expr;)*) => {
        impl Kernels {
            $(
                $(#[$doc])*
                pub(crate) fn $name(self, $($argument: $type),*) $(-> $result)? {
                    match self.set.get() {
                        InstructionSet::Scalar => scalar::$name($($argument),*),
                        #[cfg(target_arch = "x86_64")]
                        // SAFETY: `Detected` holds AVX2 only if the machine reported AVX2 and FMA.
                        InstructionSet::Avx2 => unsafe { avx2::$name($($argument),*) },
                        #[cfg(target_arch = "x86_64")]
                        // SAFETY: `Detected` holds AVX-512 only if the machine reported AVX-512F, DQ and VL,
                        // AVX2 and FMA.
                        InstructionSet::Avx512 => unsafe { avx512::$name($($argument),*) },
                        #[cfg(target_arch = "aarch64")]
                        // SAFETY: NEON is part of the base instruction set of `aarch64`.
                        InstructionSet::Neon => unsafe { neon::$name($($argument),*) },
                        #[allow(unreachable_patterns)]
                        _ => scalar::$name($($argument),*),
                    }
                }
            )*
        }
    };
}

pub(super) use {entry_points, functions, kernels, methods};
