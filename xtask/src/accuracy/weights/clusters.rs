//! Segments of users and categories of items found by clustering, for a table of weights of rank above one.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::super::{Program, on, run};

/// Number of segments, and of categories.
const CLUSTERS: usize = 8;
/// Rounds of k-means.
const ROUNDS: usize = 20;
/// Power of the rate at which a segment takes from a category.
const POWER: f64 = 0.5;

/// Writes a table of weights for segments and categories; yields the scheme, whose mean weight is that of a product.
///
/// Clusters are those of the factors of a model of the training rows. A missing entry weighs the more, the more often
/// its segment takes items of its category: it was rather seen.
pub(super) fn write(program: &Program, folder: &Path, model: &Path) -> Result<String, String> {
    let factors = folder.join("factors");
    let mut export = program.command("export");
    export.arg(model).args(["--as-trained", "--quiet", "--out"]);
    run(export.arg(&factors))?;
    let side = |matrix: &str, ids: &str| -> Result<HashMap<String, usize>, String> {
        let rows = read_npy(&factors.join(matrix))?;
        let ids = text(&factors.join(ids))?;
        let groups = clusters(&rows);
        Ok(ids.lines().map(str::to_owned).zip(groups).collect())
    };
    let (users, items) = (side("P.npy", "users.txt")?, side("Q.npy", "items.txt")?);
    let size = |groups: &HashMap<String, usize>| {
        let mut sizes = [0.0; CLUSTERS];
        for &group in groups.values() {
            sizes[group] += 1.0;
        }
        sizes
    };
    let (user_sizes, item_sizes) = (size(&users), size(&items));
    let mut taken = [[0.0; CLUSTERS]; CLUSTERS];
    for line in text(&folder.join("train.csv"))?.lines().skip(1) {
        let mut cells = line.split(',');
        let (user, item) = (cells.next().unwrap_or(""), cells.next().unwrap_or(""));
        if let (Some(&segment), Some(&category)) = (users.get(user), items.get(item)) {
            taken[segment][category] += 1.0;
        }
    }
    let rate = |segment: usize, category: usize| -> f64 {
        let pairs = user_sizes[segment] * item_sizes[category];
        // One row more than there are: a segment may not have taken any.
        ((taken[segment][category] + 1.0) / f64::max(pairs, 1.0)).powf(POWER)
    };
    let row = |segment: usize| {
        let cells: Vec<String> = (0..CLUSTERS)
            .map(|category| rate(segment, category).to_string())
            .collect();
        cells.join(",") + "\n"
    };
    let table: String = (0..CLUSTERS).map(row).collect();
    let list = |groups: &HashMap<String, usize>| -> String {
        let mut lines: Vec<String> = groups
            .iter()
            .map(|(id, group)| format!("{id},{group}\n"))
            .collect();
        lines.sort();
        lines.concat()
    };
    let paths = ["table.csv", "segments.csv", "categories.csv"].map(|name| folder.join(name));
    for (path, text) in paths.iter().zip([table, list(&users), list(&items)]) {
        std::fs::write(path, text).map_err(|error| on(path, &error))?;
    }
    let paths: Vec<String> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    Ok(format!(
        "popularity:mean=M,alpha=0 * groups:{}",
        paths.join(",")
    ))
}

fn text(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| on(path, &error))
}

/// The rows of a matrix of 32-bit floats.
fn read_npy(path: &PathBuf) -> Result<Vec<Vec<f32>>, String> {
    let bytes = std::fs::read(path).map_err(|error| on(path, &error))?;
    let wrong = || on(path, &"it is no matrix of 32-bit floats");
    let length = bytes.get(8..10).ok_or_else(wrong)?;
    let start = 10 + usize::from(u16::from_le_bytes([length[0], length[1]]));
    let header = String::from_utf8_lossy(bytes.get(10..start).ok_or_else(wrong)?).into_owned();
    let shape = header
        .split("'shape': (")
        .nth(1)
        .and_then(|rest| rest.split(')').next());
    let columns = shape.and_then(|shape| shape.split(',').nth(1)?.trim().parse::<usize>().ok());
    let columns = columns
        .filter(|count| *count > 0 && header.contains("<f4"))
        .ok_or_else(wrong)?;
    let numbers: Vec<f32> = bytes[start..]
        .chunks_exact(4)
        .map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]]))
        .collect();
    Ok(numbers.chunks(columns).map(<[f32]>::to_vec).collect())
}

/// The cluster of each row, by k-means on rows of length one.
fn clusters(rows: &[Vec<f32>]) -> Vec<usize> {
    let rows: Vec<Vec<f32>> = rows.iter().map(|row| direction(row)).collect();
    let step = (rows.len() / CLUSTERS).max(1);
    let mut centres: Vec<Vec<f32>> = rows.iter().step_by(step).take(CLUSTERS).cloned().collect();
    let nearest = |row: &[f32], centres: &[Vec<f32>]| {
        let product =
            |centre: &Vec<f32>| -> f32 { centre.iter().zip(row).map(|(x, y)| x * y).sum() };
        let scored = centres.iter().map(product).enumerate();
        scored
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .map_or(0, |(place, _)| place)
    };
    for _ in 0..ROUNDS {
        let mut sums = vec![vec![0.0; centres[0].len()]; centres.len()];
        for row in &rows {
            let sum = &mut sums[nearest(row, &centres)];
            for (sum, x) in sum.iter_mut().zip(row) {
                *sum += x;
            }
        }
        centres = sums.iter().map(|sum| direction(sum)).collect();
    }
    rows.iter().map(|row| nearest(row, &centres)).collect()
}

fn direction(row: &[f32]) -> Vec<f32> {
    let length = row.iter().map(|x| x * x).sum::<f32>().sqrt().max(1e-12);
    row.iter().map(|x| x / length).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_one_direction_are_in_one_cluster() {
        let row = |at: u8| match at % 4 {
            0 | 2 => vec![1.0 + f32::from(at), 0.1],
            _ => vec![0.1, 1.0 + f32::from(at)],
        };
        let groups = clusters(&(0..40).map(row).collect::<Vec<_>>());
        assert_ne!(groups[0], groups[1]);
        assert!(groups.iter().all(|group| *group < CLUSTERS));
    }
}
