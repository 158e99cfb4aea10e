//! What a run reports and chooses, against values that are known.

mod support;

use std::fmt::Write as _;

use absentia_testing::extreme::SOLVERS;
use support::Sandbox;

/// 40 x 30, nine in ten observed: user, item and rating.
fn almost_full() -> Vec<(usize, usize, f64)> {
    let mut rows = Vec::new();
    for at in 0..1200_usize {
        let mixed = (at as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33;
        if !mixed.is_multiple_of(10) {
            rows.push((at / 30, at % 30, f64::from((mixed % 997) as u32) / 200.0));
        }
    }
    rows
}

/// The objective of a stored model with constant weights, entry by entry in double precision.
fn by_hand(sandbox: &Sandbox, rows: &[(usize, usize, f64)], c: f64, w: f64, lambda: f64) -> f64 {
    let loaded = sandbox.model("m.absentia");
    let (p, q) = (loaded.model.user_factors(), loaded.model.item_factors());
    let product = |x: &[f32], y: &[f32]| -> f64 {
        let pairs = x.iter().zip(y);
        pairs.map(|(x, y)| f64::from(*x) * f64::from(*y)).sum()
    };
    let (c, w) = (f64::from(c as f32), f64::from(w as f32));
    let (mut total, mut observed) = (0.0, rows.iter().peekable());
    for user in 0..p.rows() {
        for item in 0..q.rows() {
            let predicted = product(p.row(user), q.row(item));
            total += match observed.next_if(|row| (row.0, row.1) == (user, item)) {
                Some(&(.., r)) => c * (f64::from(r as f32) - predicted).powi(2),
                None => w * predicted.powi(2),
            };
        }
    }
    let square = |row: &[f32]| product(row, row);
    let users: f64 = (0..p.rows()).map(|row| square(p.row(row))).sum();
    let items: f64 = (0..q.rows()).map(|row| square(q.row(row))).sum();
    total + f64::from(lambda as f32) * (users + items)
}

#[test]
fn the_objective_never_rises_and_is_that_of_every_entry() {
    let (sandbox, rows) = (Sandbox::new(), almost_full());
    let mut text = "user,item,rating\n".to_owned();
    for (user, item, rating) in &rows {
        let _ = writeln!(text, "{user},{item},{rating}");
    }
    sandbox.write("full.csv", &text);
    let mut problems = vec![("eals", 1.0, 1e-6, 0.0), ("eals", 1.0, 1e-6, 1e-6)];
    for solver in SOLVERS {
        problems.extend([(solver, 0.01, 1.0, 1e-6), (solver, 0.01, 1.0, 0.0)]);
    }
    for (solver, c, w, lambda) in problems {
        let ran = sandbox
            .run(&format!(
                "train full.csv --json --model m.absentia --targets raw --confidence {c} \
                 --weights uniform:{w} --solver {solver} -k 32 --regularization {lambda} --reg-exponent 0"
            ))
            .ok();
        let at = format!("{solver}, c {c}, w {w}, λ {lambda}");
        let zero: f64 = rows.iter().map(|(.., r)| c * r * r).sum();
        let mut before = zero;
        for line in ran.json() {
            if line["iteration"].is_null() {
                continue;
            }
            let now = line["objective"].as_f64().expect("a number");
            assert!(
                now <= before * (1.0 + 1e-5),
                "{at}: {before} rises to {now}"
            );
            before = now;
        }
        let exact = by_hand(&sandbox, &rows, c, w, lambda);
        assert!(before < zero, "{at}: {before}");
        assert!(
            (before - exact).abs() <= 1e-5 * exact,
            "{at}: {before} is reported, {exact} by hand"
        );
    }
}

/// Recall@20 of items that users were not shown but would like.
fn recall_of_unseen(sandbox: &Sandbox, train: &str) -> (f64, String) {
    let said = sandbox.run(&format!("train made.csv {train} -k 16 --model m.absentia"));
    let said = said.ok().stderr;
    let measured = sandbox
        .run(
            "evaluate m.absentia --train made.csv --test liked.csv --at 20 --metrics recall --json",
        )
        .ok();
    let recall = measured.json()[0]["recall@20"].as_f64();
    (recall.expect("a number"), said)
}

#[test]
fn what_is_chosen_does_not_undo_a_given_exposure() {
    let sandbox = Sandbox::new();
    sandbox
        .run(
            "generate --users 3000 --items 2000 --entries 90000 --out made.csv --test liked.csv \
             --truth truth",
        )
        .ok();
    let given = "--dense-ids --weights lowrank:truth/A.npy,truth/B.npy";
    let (chosen, said) = recall_of_unseen(&sandbox, given);
    assert!(said.contains("--post-scale is not chosen"), "{said}");
    let (as_trained, _) = recall_of_unseen(&sandbox, &format!("{given} --post-scale 0"));
    let (by_popularity, said) = recall_of_unseen(
        &sandbox,
        "--dense-ids --weights popularity:mean=0.01,alpha=0.25",
    );
    assert!(!said.contains("is not chosen"), "{said}");
    assert!(
        chosen > 0.95 * as_trained && chosen > 1.3 * by_popularity,
        "{chosen}, {as_trained} with --post-scale 0, {by_popularity} by popularity"
    );
}
