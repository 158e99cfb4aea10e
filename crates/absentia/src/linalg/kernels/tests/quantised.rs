//! Quantised rows and rows transposed in registers, against the products of floats.

use super::{Kernels, numbers, on_every_set};
use crate::linalg::LANES;
use crate::linalg::kernels::quantised;
use crate::linalg::kernels::{
    PanelScales, QuantisedPanel, QuantisedRows, ScaledRows, StridedRows, words,
};

/// Sixteen rows of very different kinds.
fn odd_rows(k: usize) -> Vec<f32> {
    let mut rows = numbers(5, LANES * k);
    for (row, numbers) in rows.chunks_exact_mut(k).enumerate() {
        for (f, x) in numbers.iter_mut().enumerate() {
            match row {
                0 => *x = 0.0,
                1 => *x *= 1e-20,
                2 => *x *= 1e18,
                3 if f > 0 => *x *= 1e-3,
                4 => *x = 0.25,
                5 => *x *= 1e-42,
                6 => *x *= 3e-13,
                _ => {}
            }
        }
    }
    rows
}

struct Right {
    rows: Vec<f32>,
    scale: Vec<f32>,
    words: Vec<i32>,
    scales: PanelScales,
}

impl Right {
    fn new(kernels: Kernels, k: usize) -> Self {
        let (rows, scale) = (odd_rows(k), (1..=LANES).map(|n| n as f32 * 0.3).collect());
        let mut right = Self {
            rows,
            scale,
            words: vec![0; words(k) * LANES],
            scales: PanelScales::default(),
        };
        let mut bytes = Vec::new();
        for (lane, row) in right.rows.chunks_exact(k).enumerate() {
            let into = (&mut right.words[..], &mut right.scales);
            kernels.quantise_lane((row, right.scale[lane]), lane, into, &mut bytes);
        }
        right
    }
}

type Screen = fn(QuantisedRows<'_>, QuantisedPanel<'_>, &mut [u16], usize);

/// The plain screen, and what this machine screens with.
const SCREENS: [Screen; 2] = [quantised::screen, |rows, panel, passed, apart| {
    Kernels::in_use().screen(rows, panel, passed, apart);
}];

#[test]
fn a_product_that_reaches_the_limit_always_passes() {
    for k in [1, 3, 4, 16, 37, 128] {
        on_every_set(|kernels| {
            let right = Right::new(kernels, k);
            let panel = QuantisedPanel {
                words: &right.words,
                scales: &right.scales,
            };
            let mut bytes = Vec::new();
            // Rows of the left: random ones and those of the right.
            let lefts = [numbers(9, 11 * k), right.rows.clone()].concat();
            for left in lefts.chunks_exact(k) {
                let Some(row) = kernels.quantise_row(left, &mut bytes) else {
                    let largest = left.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
                    assert!(!(1e-15..1e15).contains(&largest));
                    continue;
                };
                for (lane, item) in right.rows.chunks_exact(k).enumerate() {
                    // Equal to the limit is enough.
                    let score = kernels.score(left, item, right.scale[lane]);
                    let limits = [row.limit(score)];
                    let rows = QuantisedRows {
                        words: row.words(),
                        pitch: words(k),
                        limits: &limits,
                    };
                    for screen in SCREENS {
                        let mut passed = [0];
                        screen(rows, panel, &mut passed, 1);
                        assert!(passed[0] & (1 << lane) != 0, "K = {k}, lane {lane}");
                    }
                }
            }
        });
    }
}

#[test]
fn few_pass_that_do_not_reach_the_limit() {
    let (k, users) = (128, 13);
    let kernels = Kernels::in_use();
    let right = Right::new(kernels, k);
    let panel = QuantisedPanel {
        words: &right.words,
        scales: &right.scales,
    };
    let (mut all, mut limits, mut below) = (Vec::new(), Vec::new(), Vec::new());
    for left in numbers(9, users * k).chunks_exact(k) {
        let row = kernels.quantise_row(left, &mut Vec::new()).unwrap();
        // A limit beyond every product by three hundredths of the greatest one of usual size.
        let scores = (7..LANES)
            .map(|lane| kernels.score(left, &right.rows[lane * k..][..k], right.scale[lane]));
        let best = scores.fold(0.0, f32::max);
        let length = left.iter().map(|x| x * x).sum::<f32>().sqrt();
        limits.push(row.limit(best + 0.03 * length * 7.0 * 4.8));
        below.push(row.limit(f32::NEG_INFINITY));
        all.extend_from_slice(row.words());
    }
    for screen in SCREENS {
        let rows = |limits| QuantisedRows {
            words: &all,
            pitch: words(k),
            limits,
        };
        let mut passed = vec![0; 2 * users];
        screen(rows(&limits), panel, &mut passed, 2);
        // Of usual size are the lanes from 7; 1e-20 and 1e-42 pass for being too small for bytes.
        for bits in passed.iter().step_by(2) {
            assert_eq!(bits >> 7, 0);
            assert_eq!(bits & 1, 0, "a row of zeros");
        }
        assert!(passed.iter().skip(1).step_by(2).all(|&bits| bits == 0));
        screen(rows(&below), panel, &mut passed, 2);
        assert!(passed.iter().step_by(2).all(|&bits| bits == u16::MAX));
    }
}

#[test]
fn rows_as_they_lie_have_the_products_of_panels() {
    for (k, stride) in [(1, 1), (16, 16), (37, 40), (48, 64), (128, 128)] {
        let (matrix, p) = (numbers(3, 49 * stride + k), numbers(4, k));
        let scale = numbers(5, 50);
        for (len, scale) in [
            (0, None),
            (1, Some(&scale[..])),
            (16, None),
            (45, Some(&scale)),
        ] {
            let picked: Vec<u32> = (0..len).map(|n| (n * 7 + 3) % 50).collect();
            let rows = ScaledRows {
                matrix: &matrix,
                stride,
                k,
                scale,
            };
            on_every_set(|kernels| {
                let mut lying = vec![9.0; picked.len().next_multiple_of(LANES)];
                kernels.products(&p, rows, &picked, &mut lying);
                for (some, lying) in picked.chunks(LANES).zip(lying.chunks(LANES)) {
                    let (mut panel, mut out) = (vec![9.0; k * LANES], [0.0; LANES]);
                    kernels.transpose_rows(rows, some, &mut panel);
                    for (lane, &row) in some.iter().enumerate() {
                        let scale = scale.map_or(1.0, |scale| scale[row as usize]);
                        for f in 0..k {
                            let want = matrix[row as usize * stride + f] * scale;
                            assert_eq!(panel[f * LANES + lane].to_bits(), want.to_bits());
                        }
                    }
                    let x = StridedRows {
                        values: &p,
                        stride: k,
                        rows: 1,
                        k,
                    };
                    kernels.panel_product(x, &panel, None, &mut out, LANES);
                    let bits =
                        |scores: &[f32]| scores.iter().map(|s| s.to_bits()).collect::<Vec<_>>();
                    assert_eq!(bits(&lying[..some.len()]), bits(&out[..some.len()]));
                }
            });
        }
    }
}
