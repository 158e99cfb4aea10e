//! The paper read against the mathematics: slips, each with what it amounts to.

use absentia::generate::{Generator, Params as Shape};
use absentia::linalg::Dense;
use absentia::weights::Scheme;
use absentia_cli::terminal::format::{count, significant};
use anyhow::Result;

use super::lab::{Lab, Setting};
use super::paper;
use super::part::{Block, Grid};

/// Slips that need no measurement: where, what it says, what it should say.
const READ: [(&str, &str, &str); 11] = [
    (
        "Eq. 2",
        "p_uᵀ q_j under a sum over i; L in this equation, J in all later ones",
        "q_i, and one name",
    ),
    (
        "Eq. 2, second line",
        "‖W ⊙ (R − PQᵀ)‖²",
        "‖√W ⊙ (R − PQᵀ)‖²: as printed, weights are squared",
    ),
    ("Eq. q_if0", "Σ_{i=1}^M in the denominator", "Σ_{u=1}^M"),
    (
        "Algorithm 1",
        "r̂_ui is computed for (u,i) ∈ R only, then read for every i",
        "for all u and i: O(MNK) at the start, O(MN) memory",
    ),
    (
        "II-C",
        "with non-uniform weights WALS degrades to O(MNK)",
        "to O(MNK² + (M+N)K³): it still forms and solves K × K systems",
    ),
    (
        "III-B",
        "truncated SVD of W costs O(|R|Z)",
        "O(MNZ) a product: W has a weight at every missing entry and is dense",
    ),
    (
        "III-B",
        "the SVD is applied to the weights of missing entries only",
        "then W has holes at observed entries, and it is no plain SVD; with W given everywhere, the error there does not matter",
    ),
    ("III-C", "S^q ∈ R^{T×F×K}; a_qᵀb_i", "R^{Z×K×K}; a_uᵀb_i"),
    (
        "III-C",
        "the rq problem is solved in O(KZ|R_u|), rather than O(KZMN)",
        "O(KZ + |R_u|Z) with r̂ cached, as Algorithm 2 has it, rather than O(KZN) for one user",
    ),
    (
        "III-C",
        "each step decreases the objective, the proof is omitted as obvious",
        "it needs positive curvature: truncating the SVD of a positive W can leave negative weights and none",
    ),
    (
        "IV-D",
        "the best α is around 0.4 on both sets",
        "0.5 is used for Amazon in the next paragraph",
    ),
];

pub(super) fn blocks(lab: &Lab) -> Result<Vec<Block>> {
    let mut grid = Grid::new("Found by reading", ["where", "the paper", "should be"]).of_words();
    for (place, says, should) in READ {
        grid.row([place, says, should]);
    }
    Ok(vec![
        Block::Table(grid),
        Block::Table(computed()),
        entries_and_rank(lab)?,
    ])
}

/// Slips that are arithmetic.
fn computed() -> Grid {
    let mut grid = Grid::new("Found by computing", ["where", "the paper", "computed"]).of_words();
    for (data, c0, _, items) in paper::BEST_WEIGHTS {
        let stated = if data == "Amazon" {
            paper::STATED_AMAZON_WEIGHT
        } else {
            0.02
        };
        grid.row([
            format!("IV-D, {data}: weight of a missing entry, c0/N"),
            significant(stated, 2),
            format!(
                "{c0} / {} = {}",
                count(items as u64),
                significant(c0 / items, 3)
            ),
        ]);
    }
    // A weight w and an error e count w e² in the sum and w² e² in the norm.
    let (w, e) = (0.02_f64, 0.5_f64);
    grid.row([
        "Eq. 2: what an entry with weight 0.02 and error 0.5 adds".to_owned(),
        format!("{} by the sum", significant(w * e * e, 3)),
        format!(
            "{} by the norm, {} times less",
            significant(w * w * e * e, 3),
            1.0 / w
        ),
    ]);
    let observed = [
        ("Yelp", 731_671.0 - 25_677.0, 5.9222e5),
        ("Amazon", 5_020_705.0 - 117_176.0, 3.0172e6),
    ];
    for (data, entries, loss) in observed {
        grid.row([
            format!("IV-A and Table II, {data}: entries are rating scores of 1 to 5"),
            format!("loss {}", significant(loss, 5)),
            format!(
                "{} training entries: the loss is {} an entry, less than one binary entry alone, so \
                 targets will have been binary",
                count(entries as u64),
                significant(loss / entries, 3)
            ),
        ]);
    }
    grid
}

/// The |R|KZ term: d_ui = c_ui − a_u·b_i is the same for all K factors of a row.
fn entries_and_rank(lab: &Lab) -> Result<Block> {
    // Few rows and many entries, so that the entries' part leads.
    let shape = match lab.size {
        super::scale::Size::Tiny => Shape::new(200, 400, 3_000),
        _ => Shape::new(2_000, 4_000, 300_000),
    };
    let data = Generator::new(shape.clone())?.interactions()?;
    let (few, many, factors) = (1, 16, 64);
    let time = |z: usize| {
        let part = |rows: usize| Dense::from_fn(rows, z, |_, _| 0.1 / z as f32);
        let setting = Setting {
            scheme: Scheme::LowRank {
                a: part(data.n_users()),
                b: part(data.n_items()),
            },
            params: lab.params(factors, 1).threads(1),
        };
        lab.timed(&data, &setting)
    };
    let (one, more) = (time(few)?, time(many)?);
    let rows = (shape.users + shape.items) as f64;
    let per_row = rows * (factors * factors) as f64;
    let per_entry = 2.0 * shape.entries as f64 * factors as f64;
    let predicted = |z: f64, entry_z: f64| per_row * z + per_entry * entry_z;
    Ok(Block::text(format!(
        "The |R|KZ term of the complexity need not be there: a missing weight a_u·b_i is the same for \
         all K factors of an entry, so it costs |R|Z once, not |R|KZ. Measured at K = {factors} on {} \
         entries of {} rows, going from Z = {few} to Z = {many} takes {:.2} times as long; leading terms \
         with |R|KZ, all constants 1, would give {:.1} times, without it {:.1}.",
        count(shape.entries),
        count(rows as u64),
        more / one,
        predicted(many as f64, many as f64) / predicted(1.0, 1.0),
        predicted(many as f64, 1.0) / predicted(1.0, 1.0),
    )))
}
