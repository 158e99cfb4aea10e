//! The paper read against the mathematics: slips, each with what it amounts to.

use absentia::Dense;
use absentia::weights::Scheme;
use absentia_report::format::{count, significant};
use anyhow::Result;

use super::lab::{Lab, Setting};
use super::part::{Block, Grid};
use super::published;
use crate::generate::{Generator, GeneratorParams};

/// Slips that need no measurement: where, what it says, what it should say.
const READ: [(&str, &str, &str); 15] = [
    (
        "II",
        "an entry is observed where r_ui ≠ 0",
        "being observed is apart from the value: an entry known to have been shown and not taken has r_ui = 0",
    ),
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
        "II-C",
        "SVD by Lanczos is O(|R|K)",
        "O(|R|K + (M+N)K²) a restart: the vectors have to be kept orthogonal",
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
        "III-D",
        "computing J directly costs O(MNKZ)",
        "O(MN(K + Z)): K for a prediction and Z for a weight",
    ),
    (
        "IV-D",
        "c0 and α are those with the best HR, no rows but the test's being held out, and the gain is tested on the same rows (p < 10⁻⁴, p < 0.01)",
        "settings chosen on other rows: a p-value takes no account of a choice made on the rows it is computed from",
    ),
    (
        "IV-D",
        "the best α is around 0.4 on both sets",
        "0.5 is used for Amazon in the next paragraph",
    ),
];

pub(super) fn blocks(lab: &Lab<'_>) -> Result<Vec<Block>> {
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
    for (data, c0, _, items) in published::BEST_WEIGHTS {
        let stated = if data == "Amazon" {
            published::STATED_AMAZON_WEIGHT
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
    add_timings(&mut grid);
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
    let losses = published::TABLE_TWO.iter().filter(|row| row.1 == "SVD");
    for ((data, reviews, _, users), &(_, _, _, _, loss)) in published::DATA.into_iter().zip(losses)
    {
        let entries = (reviews - users as u64) as f64;
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

/// What the paper says of its seconds against what its own tables have.
fn add_timings(grid: &mut Grid) {
    let rows = published::TABLE_THREE;
    for (name, reviews, items, users) in published::DATA {
        let turn = reviews as f64 / (users + items) as f64;
        grid.row([
            format!("III-D, {name}: the cost of an iteration is in proportion to |R|"),
            "(M+N)K²Z + |R|KZ".to_owned(),
            format!(
                "the first term leads from K = |R|/(M+N) = {} on: at K = 128 it is {} times the second",
                significant(turn, 2),
                significant(128.0 / turn, 2)
            ),
        ]);
    }
    let cells = || rows.iter().flat_map(|(_, yelp, amazon)| [yelp, amazon]);
    let faster = cells().filter(|cell| cell[1] < cell[0]).count();
    let slower = cells().filter(|cell| cell[1] > cell[0]).count();
    grid.row([
        "III-D and the table of seconds: eALS against RCD".to_owned(),
        "high efficiency is a major advantage of eALS".to_owned(),
        format!(
            "of {} timings of an iteration RCD has the shorter in {faster}, eALS in {slower}",
            cells().count()
        ),
    ]);
    let at = |k: usize| rows.iter().find(|row| row.0 == k);
    if let Some((before, after)) = at(512).zip(at(1024)) {
        let power = |x: f64, y: f64| significant((y / x).log2(), 2);
        grid.row([
            "IV-C: WALS inverts with Coppersmith and Winograd's algorithm".to_owned(),
            "about K^2.376".to_owned(),
            format!(
                "from K = 512 to 1024 its seconds grow as K^{} (Yelp) and K^{} (Amazon); no program \
                 uses that algorithm, whose constant is beyond any machine",
                power(before.1[2], after.1[2]),
                power(before.2[2], after.2[2])
            ),
        ]);
    }
    let (at_64, table) = published::AMAZON_SECONDS;
    grid.row([
        "IV-C, Amazon, K = 64: seconds are linear in Z, twice as many at Z = 64 as at 32"
            .to_owned(),
        format!("{at_64} s at Z = 64, {table} s at Z = 1"),
        format!(
            "such a line has {} s at Z = 1; the table of seconds is that of the preliminary version",
            significant(at_64 / 64.0, 2)
        ),
    ]);
}

/// The |R|KZ term: `d_ui = c_ui − a_u·b_i` is the same for all K factors of a row.
fn entries_and_rank(lab: &Lab<'_>) -> Result<Block> {
    // Few rows and many entries, so that the entries' part leads.
    let shape = match lab.size {
        super::scale::Size::Tiny => GeneratorParams::new(200, 400, 3_000),
        _ => GeneratorParams::new(2_000, 4_000, 300_000),
    };
    let data = Generator::new(shape.clone())?.interactions()?;
    let (few, many, factors) = (1, 16, 64);
    let time = |z: usize| {
        let part = |rows: usize| Dense::from_fn(rows, z, |_, _| 0.1 / z as f32);
        let setting = Setting {
            scheme: Scheme::low_rank(part(data.n_users()), part(data.n_items())),
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
