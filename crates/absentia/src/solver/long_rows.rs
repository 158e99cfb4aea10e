//! Rows that are long enough to be split between threads.

use std::ops::Range;

use rayon::prelude::*;

/// Entries of a segment: the sums of longer rows are split into segments for several threads.
pub(crate) const SEGMENT: usize = 4_096;

/// Calls `f(position, segment)` on the segments of a row's buffer, in parallel if there are several.
pub(crate) fn for_each_segment<T: Send>(buffer: &mut [T], f: impl Fn(usize, &mut [T]) + Sync) {
    if buffer.len() <= SEGMENT {
        f(0, buffer);
    } else {
        buffer
            .par_chunks_mut(SEGMENT)
            .enumerate()
            .for_each(|(segment, part)| f(segment * SEGMENT, part));
    }
}

/// Adds to `out` a sum over `len` entries, where `f(range, out)` adds the part of a range.
///
/// Segments are summed in `f32` and added up in order in `f64`, so that a row of a million entries
/// keeps its precision, and the result does not depend on the number of threads.
pub(crate) fn sum_segments(
    len: usize,
    out: &mut [f32],
    f: impl Fn(Range<usize>, &mut [f32]) + Sync,
) {
    if len <= SEGMENT {
        f(0..len, out);
        return;
    }
    let parts: Vec<Vec<f32>> = (0..len.div_ceil(SEGMENT))
        .into_par_iter()
        .map(|segment| {
            let mut part = vec![0.0; out.len()];
            f(
                segment * SEGMENT..len.min((segment + 1) * SEGMENT),
                &mut part,
            );
            part
        })
        .collect();
    for (n, slot) in out.iter_mut().enumerate() {
        *slot = parts
            .iter()
            .fold(f64::from(*slot), |sum, part| sum + f64::from(part[n])) as f32;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Threads can share a long row: no segment is longer than `SEGMENT`, and every entry is in one of them.
    #[test]
    fn long_rows_are_divided_into_segments() {
        let (len, found, mut sum) = (2 * SEGMENT + 5, Mutex::new(Vec::new()), [3.0]);
        sum_segments(len, &mut sum, |range, sum| {
            sum[0] += range.len() as f32;
            found.lock().unwrap().push((range.start, range.end));
        });
        let mut found = found.into_inner().unwrap();
        found.sort_unstable();
        assert_eq!(
            found,
            [(0, SEGMENT), (SEGMENT, 2 * SEGMENT), (2 * SEGMENT, len)]
        );
        assert!((sum[0] - (len + 3) as f32).abs() < 0.5);
        let mut places = vec![0; len];
        for_each_segment(&mut places, |start, segment| {
            for (at, place) in segment.iter_mut().enumerate() {
                *place += start + at;
            }
        });
        assert!(places.iter().enumerate().all(|(at, place)| at == *place));
    }
}
