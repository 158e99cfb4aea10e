//! Several relations as one problem, against an oracle in `f64` that loops over every cell of every relation.
#![allow(missing_docs, clippy::unwrap_used, clippy::float_cmp)]

#[path = "../oracle/mod.rs"]
mod oracle;
mod world;

use absentia::data::{Confidence, Duplicates, Targets};
use absentia::fit::backend::Cpu;
use absentia::fit::{FitError, Run, fit, fit_related};
use absentia::model::{NewEntry, RowEntries, RowWeights, Similarity};
use absentia::relations::{
    Arrangement, Content, Features, Relation, RelationEntries, RelationError, Relations, Scaling,
    TypePair,
};
use absentia::weights::Scheme;
use absentia::{Axis, Dense, Interactions, Model, Params, Sides, Solver, Triplets};
use oracle::relative_distance;
use world::{Block, K, STRENGTHS, World, all};

const SOLVERS: [Solver; 6] = [
    Solver::Eals,
    Solver::EalsVanilla,
    Solver::Subspace { block: 4 },
    Solver::Subspace { block: 16 },
    Solver::Als,
    Solver::AlsCg { steps: 3 },
];

#[test]
fn every_solver_reports_the_objective_that_is_written_out() {
    for nu in [0.0, 1.0] {
        for solver in SOLVERS {
            for warm in [true, false] {
                let mut world = World::new(nu, STRENGTHS);
                let fitted = world.train(solver, 4, warm).unwrap();
                world.set(&fitted.model);
                let reported = fitted.model.history().last().unwrap().objective.total();
                let exact = world.objective();
                assert!(
                    (reported - exact).abs() < 1e-5 * exact,
                    "{solver:?}, nu {nu}, warm {warm}: {reported} instead of {exact}"
                );
            }
        }
    }
}

#[test]
fn element_wise_sweeps_are_those_of_the_oracle() {
    for nu in [0.0, 0.5, 1.0] {
        for solver in [
            Solver::Eals,
            Solver::EalsVanilla,
            Solver::Subspace { block: 1 },
        ] {
            let mut world = World::new(nu, STRENGTHS);
            let fitted = world.train(solver, 3, true).unwrap();
            for _ in 0..3 {
                world.sweep();
            }
            for entity in 0..world.entities.len() {
                let got = all(fitted.model.entity_factors(entity).unwrap());
                let off = relative_distance(got, world.factors[entity].iter().copied());
                assert!(off < 1e-4, "{solver:?}, nu {nu}, {entity}: {off:.1e}");
            }
        }
    }
}

/// Where rows have the same weights in all relations, `eals` sums the caches once for several of them.
#[test]
fn rows_of_the_same_weights_are_solved_as_others_are() {
    let world = World::new(1.0, STRENGTHS);
    let (data, scheme) = (world.blocks[0].data(), Scheme::uniform(0.2));
    let types = TypePair {
        first: "items".to_owned(),
        second: "vectors".to_owned(),
        context: false,
    };
    let mut entities = Arrangement::of(&[types]).unwrap().entities;
    let counts = [data.n_users(), data.n_items(), 9];
    for (entity, count) in entities.iter_mut().zip(counts) {
        entity.count = count;
    }
    let values = Dense::from_fn(counts[1], 9, |row, col| ((row * 7 + col * 5) % 11) as f32);
    for every in [1, 3] {
        // All items have features, or some do not.
        let known = (0..counts[1]).map(|item| every == 1 || item % every != 0);
        let features = Features::new(&values, known.collect(), Scaling::Together).unwrap();
        let relations = Relations {
            entities: entities.clone(),
            relations: vec![Relation {
                first: 1,
                second: 2,
                strength: 0.7,
                content: Content::Features(features),
            }],
            weighs_empty: true,
        };
        let trained = |solver: Solver| {
            let params = world.params(solver, 3);
            let main = (&data, &scheme);
            fit_related(&Cpu, main, Some(&relations), &params, Run::default()).unwrap()
        };
        let eals = trained(Solver::Eals).model;
        for solver in [Solver::EalsVanilla, Solver::Subspace { block: 1 }] {
            let other = trained(solver).model;
            for entity in 0..3 {
                let factors = |model: &Model| model.entity_factors(entity).unwrap().clone();
                let off = relative_distance(all(&factors(&eals)), all(&factors(&other)));
                assert!(off < 1e-4, "{solver:?}, {every}, {entity}: {off:.1e}");
            }
        }
    }
}

#[test]
fn exact_solvers_leave_nothing_to_gain_on_the_side_they_solved_last() {
    let mut world = World::new(1.0, STRENGTHS);
    let fitted = world.train(Solver::Als, 3, false).unwrap();
    world.set(&fitted.model);
    // The gradient of every row of items, towns and followed users is zero.
    for entity in (0..world.entities.len()).filter(|&e| world.entities[e].axis == Axis::Item) {
        for row in 0..world.entities[entity].count {
            let own = &world.factors[entity][row * K..][..K];
            let cells = world.cells_of(entity, row);
            for f in 0..K {
                let (mut gradient, mut size) = (world.lambda(entity, row) * own[f], 1e-3);
                for (w, r, other) in &cells {
                    let predicted: f64 = own.iter().zip(*other).map(|(x, y)| x * y).sum();
                    gradient -= w * (r - predicted) * other[f];
                    size += (w * r * other[f]).abs();
                }
                assert!(
                    gradient.abs() < 1e-4 * size,
                    "{entity} {row}: {gradient:.1e}"
                );
            }
        }
    }
}

#[test]
fn a_relation_without_strength_changes_nothing() {
    let world = World::new(1.0, [0.0; 5]);
    let (data, scheme) = (world.blocks[0].data(), world.blocks[0].scheme());
    let mut relations = world.relations();
    relations.weighs_empty = true;
    for solver in SOLVERS {
        let params = world.params(solver, 6);
        let alone = fit(&data, &scheme, &params, Run::default()).unwrap().model;
        let main = (&data, &scheme);
        let mut trained = |strength: f32| {
            for relation in &mut relations.relations {
                relation.strength = strength;
            }
            let run = Run::default();
            fit_related(&Cpu, main, Some(&relations), &params, run).unwrap()
        };
        for strength in [0.0, 1e-8] {
            let with = trained(strength).model;
            for entity in [0, 1] {
                let (got, expected) = (with.entity_factors(entity), alone.entity_factors(entity));
                let off = relative_distance(all(got.unwrap()), all(expected.unwrap()));
                assert!(off < 1e-6, "{solver:?}, strength {strength}: {off:.1e}");
            }
        }
        let far = trained(0.5).model;
        let off = relative_distance(all(far.item_factors()), all(alone.item_factors()));
        assert!(off > 1e-3, "{solver:?}: {off:.1e}");
    }
}

/// Five users and eight items with interactions, and two items behind them that only tags know.
fn known_and_new(n_items: usize) -> Interactions<'static> {
    let pairs: Vec<(u32, u32)> = (0..40)
        .map(|cell| (cell % 5, cell / 5))
        .filter(|(user, item)| (3 * user + 2 * item) % 4 != 1)
        .collect();
    let users: Vec<u32> = pairs.iter().map(|pair| pair.0).collect();
    let items: Vec<u32> = pairs.iter().map(|pair| pair.1).collect();
    let data = Triplets::new(&users, &items).build(5, n_items, Duplicates::Error);
    let data = data.unwrap();
    let counts = data.item_counts();
    assert!(counts[..8].iter().all(|&n| n > 0) && data.user_counts().iter().all(|&n| n > 0));
    data
}

/// Tags of ten items.
fn tags_of_ten(strength: f32) -> Relations<'static> {
    let types = TypePair {
        first: "items".to_owned(),
        second: "tags".to_owned(),
        context: false,
    };
    let mut entities = Arrangement::of(&[types]).unwrap().entities;
    for (entity, count) in entities.iter_mut().zip([5, 10, 3]) {
        entity.count = count;
    }
    let (items, tags): (Vec<u32>, Vec<u32>) = (0..10).map(|item| (item, item * item % 3)).unzip();
    let data = Triplets::new(&items, &tags).build(10, 3, Duplicates::Error);
    Relations {
        entities,
        relations: vec![Relation {
            first: 1,
            second: 2,
            strength,
            content: Content::Entries(Box::new(RelationEntries {
                data: data.unwrap(),
                scheme: Scheme::uniform(0.1),
                targets: Targets::default(),
                confidence: Confidence::default(),
            })),
        }],
        weighs_empty: false,
    }
}

/// Without strength, rows with interactions are those of a model without the relation and the rows that only it has.
#[test]
fn without_strength_known_rows_are_those_of_the_plain_model() {
    for (nu, solver) in [0.0, 1.0].iter().flat_map(|nu| SOLVERS.map(|s| (*nu, s))) {
        let params = World::new(nu, STRENGTHS).params(solver, 6);
        let scheme = Scheme::uniform(0.2);
        let alone = fit(&known_and_new(8), &scheme, &params, Run::default());
        let alone = alone.unwrap().model;
        let data = known_and_new(10);
        let trained = |strength: f32| {
            let (main, tags) = ((&data, &scheme), tags_of_ten(strength));
            let fitted = fit_related(&Cpu, main, Some(&tags), &params, Run::default());
            fitted.unwrap().model
        };
        let rows = |model: &Model, rows: std::ops::Range<usize>| -> Vec<f64> {
            let factors = rows.flat_map(|row| model.item_factors().row(row).to_vec());
            factors.map(f64::from).collect()
        };
        let largest = |values: &[f64]| values.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
        for strength in [0.0, 1e-8] {
            let with = trained(strength);
            let users = relative_distance(all(with.user_factors()), all(alone.user_factors()));
            let items = relative_distance(
                rows(&with, 0..8).into_iter(),
                rows(&alone, 0..8).into_iter(),
            );
            let case = format!("{solver:?}, nu {nu}, strength {strength}");
            assert!(
                users < 1e-6 && items < 1e-6,
                "{case}: {users:.1e} {items:.1e}"
            );
            // Rows that only the relation has lose all their weight; with nu 0 their penalty stays.
            if strength == 0.0 || nu == 0.0 {
                let new = largest(&rows(&with, 8..10));
                assert!(new < 1e-6, "{case}: {new:.1e}");
            }
        }
        let strong = rows(&trained(0.5), 8..10);
        assert!(largest(&strong) > 1e-2, "{solver:?}, nu {nu}");
        if nu == 1.0 {
            // Their penalty is in proportion to their weight, so that their limit is the relation's own.
            let (near, nearer) = (rows(&trained(1e-5), 8..10), rows(&trained(1e-6), 8..10));
            assert!(largest(&nearer) > 1e-2, "{solver:?}");
            let off = relative_distance(near.into_iter(), nearer.into_iter());
            assert!(off < 1e-3, "{solver:?}: {off:.1e}");
        }
    }
}

/// Tags and towns meet in the corner, which neither relation has: whatever the factors, it adds nothing.
#[test]
fn the_corner_weighs_nothing() {
    let mut world = World::new(0.0, [0.5; 5]);
    for at in [2, 3] {
        world.factors[at].iter_mut().for_each(|x| *x *= 1000.0);
    }
    let fitted = world.train(Solver::Eals, 1, true).unwrap();
    world.sweep();
    for entity in 0..world.entities.len() {
        let got = all(fitted.model.entity_factors(entity).unwrap());
        let off = relative_distance(got, world.factors[entity].iter().copied());
        assert!(off < 1e-3, "{entity}: {off:.1e}");
    }
}

#[test]
fn ranks_add_up_and_the_parts_stay_apart() {
    let world = World::new(1.0, STRENGTHS);
    let fitted = world.train(Solver::Eals, 2, false).unwrap();
    let (model, main) = (&fitted.model, &world.blocks[0]);
    assert_eq!(model.weights().rank(), main.z);
    assert_eq!(model.parts().user_counts, main.data().user_counts());
    assert_eq!(model.parts().item_counts, main.data().item_counts());
    let related = model.related().unwrap();
    for (relation, block) in related.relations.iter().zip(&world.blocks[1..]) {
        assert_eq!(relation.weights.rank(), block.z);
        assert_eq!(relation.counts.users, block.counts());
        assert_eq!(relation.features.is_some(), block.features.is_some());
        // Rows without entries have no weight, here as in the main relation.
        let empty = (0..block.rows)
            .find(|&row| block.is_empty_row(row))
            .unwrap();
        assert!(relation.weights.a().row(empty).iter().all(|&x| x == 0.0));
    }
    let names: Vec<&str> = related.entities.iter().map(|e| &e.name[..]).collect();
    let expected = [
        "users",
        "items",
        "tags",
        "towns",
        "users of users",
        "vectors",
        "numbers",
    ];
    assert_eq!(names, expected);
    assert_eq!(model.stacked_factors(Axis::User).rows(), 23 + 11 + 9);
    assert_eq!(model.stacked_factors(Axis::Item).rows(), 19 + 6 + 23 + 4);
}

#[test]
fn a_resumed_run_ends_in_the_same_bits() {
    let world = World::new(1.0, STRENGTHS);
    let whole = world.train(Solver::Eals, 6, false).unwrap();
    let half = world.train(Solver::Eals, 3, false).unwrap();
    let (data, scheme) = (world.blocks[0].data(), world.blocks[0].scheme());
    let resume = |relations: &Relations<'_>| {
        let run = Run {
            resume: Some(half.checkpoint.clone()),
            ..Run::default()
        };
        let params = world.params(Solver::Eals, 6);
        fit_related(&Cpu, (&data, &scheme), Some(relations), &params, run)
    };
    let resumed = resume(&world.relations()).unwrap();
    for entity in 0..world.entities.len() {
        let factors = |model: &Model| model.entity_factors(entity).unwrap().clone();
        assert_eq!(factors(&resumed.model), factors(&whole.model));
    }
    let mut other = world.relations();
    other.relations[0].strength = 0.9;
    assert!(matches!(resume(&other), Err(FitError::ResumeWeights)));
}

/// A row of the model that is folded in with its own entries in all relations is the row that `als` found.
#[test]
fn rows_with_attributes_are_folded_in_as_they_were_trained() {
    let world = World::new(1.0, STRENGTHS);
    let fitted = world.train(Solver::Als, 1, false).unwrap();
    let model = &fitted.model;
    let fold = model.fold_in(Axis::Item);
    let entries = |block: &Block, column: bool, at: usize| -> Vec<NewEntry> {
        if block.features.is_some() {
            return block.raw_features(at);
        }
        let cells = block.cells.iter().enumerate().filter_map(|(n, cell)| {
            let (row, col) = (n / block.columns, n % block.columns);
            let (own, other) = if column { (col, row) } else { (row, col) };
            let (r, c) = (*cell)?;
            (own == at).then(|| NewEntry {
                weight: c,
                ..NewEntry::new(other as u32).value(r)
            })
        });
        cells.collect()
    };
    let (main, tags, vectors) = (&world.blocks[0], &world.blocks[1], &world.blocks[4]);
    for item in 0..main.columns {
        let (taken, tagged) = (entries(main, true, item), entries(tags, false, item));
        let described = entries(vectors, false, item);
        let like = RowWeights::Like(item as u32);
        let known = [
            RowEntries {
                relation: None,
                entries: &taken,
                weights: &like,
            },
            RowEntries {
                relation: Some(0),
                entries: &tagged,
                weights: &like,
            },
            RowEntries {
                relation: Some(3),
                entries: &described,
                weights: &like,
            },
        ];
        let found = fold.solve_related(&known).unwrap();
        let trained = model.item_factors().row(item);
        let off = relative_distance(
            found.iter().map(|x| f64::from(*x)),
            trained.iter().map(|x| f64::from(*x)),
        );
        assert!(off < 1e-4, "item {item}: {off:.1e}");
        if tagged.is_empty() || taken.is_empty() {
            continue;
        }
        // Tags explain the score of a user for the item, and all parts add up to it.
        let explained = fold.explain_related(Some(item as u32), &known, 0).unwrap();
        assert!(explained.remainder.abs() < 1e-4 * (1.0 + explained.score.abs()));
        let by_tags = explained
            .contributions
            .iter()
            .filter(|c| c.relation == Some(0));
        assert_eq!(by_tags.count(), tagged.len());
        let of_features = explained
            .contributions
            .iter()
            .filter(|c| c.relation == Some(3));
        assert_eq!(of_features.count(), described.len());
        // Attributes alone are enough.
        for alone in [&known[1..2], &known[2..]] {
            let found = fold.solve_related(alone).unwrap();
            assert_eq!(
                found.iter().any(|&x| x != 0.0),
                !alone[0].entries.is_empty()
            );
        }
        if let [first, ..] = &described[..] {
            let some = RowEntries {
                entries: std::slice::from_ref(first),
                ..known[2]
            };
            let error = fold.solve_related(&[some]).unwrap_err().to_string();
            assert!(error.contains("1 features; expected 9"), "{error}");
        }
    }
    let users = model.fold_in(Axis::User);
    let wrong = RowEntries {
        relation: Some(0),
        entries: &[],
        weights: &RowWeights::Frozen,
    };
    assert!(users.solve_related(&[wrong]).is_err());
}

#[test]
fn items_are_found_near_a_tag() {
    let world = World::new(0.0, [1.0; 5]);
    let model = world.train(Solver::Eals, 5, false).unwrap().model;
    let near = model.similar_across((2, 1), &[3], 4, Similarity::InnerProduct);
    let near = near.unwrap().remove(0);
    assert_eq!(near.len(), 4);
    let score = |item: usize| -> f32 {
        let (tag, item) = (
            model.entity_factors(2).unwrap(),
            model.item_factors().row(item),
        );
        tag.row(3).iter().zip(item).map(|(x, y)| x * y).sum()
    };
    let best = (0..19)
        .max_by(|&x, &y| score(x).total_cmp(&score(y)))
        .unwrap();
    assert_eq!(near[0].item as usize, best);
    assert!(
        model
            .similar_across((2, 1), &[11], 4, Similarity::Cosine)
            .is_err()
    );
    assert!(
        model
            .similar_across((2, 9), &[0], 4, Similarity::Cosine)
            .is_err()
    );
}

#[test]
fn relations_that_do_not_fit_are_refused_by_name() {
    let world = World::new(1.0, STRENGTHS);
    let (data, scheme) = (world.blocks[0].data(), world.blocks[0].scheme());
    let refused = |change: &dyn Fn(&mut Relations<'static>)| {
        let mut relations = world.relations();
        change(&mut relations);
        let params = world.params(Solver::Eals, 1);
        let run = Run::default();
        match fit_related(&Cpu, (&data, &scheme), Some(&relations), &params, run) {
            Err(FitError::Relations(error)) => error,
            other => panic!("{other:?}"),
        }
    };
    let error = refused(&|relations| relations.relations[0].strength = f32::NAN);
    assert!(matches!(error, RelationError::Strength { .. }), "{error}");
    let error = refused(&|relations| relations.relations[1] = relations.relations[0].clone());
    assert!(matches!(error, RelationError::Twice { .. }), "{error}");
    let error = refused(&|relations| relations.entities[2].axis = Axis::Item);
    assert!(matches!(error, RelationError::SameSide { .. }), "{error}");
    let error = refused(&|relations| relations.entities[3].count += 1);
    assert!(matches!(error, RelationError::Shape { .. }), "{error}");
    let error = refused(&|relations| relations.entities[3].regularization = Some(-1.0));
    assert!(
        matches!(error, RelationError::Regularization { .. }),
        "{error}"
    );
    let error = refused(&|relations| relations.entities[5].count += 1);
    assert!(matches!(error, RelationError::Shape { .. }), "{error}");
    let baseline = Params::new().solver(absentia::Baseline::Popularity);
    let params = baseline.check().unwrap();
    let relations = world.relations();
    let main = (&data, &scheme);
    let error = fit_related(&Cpu, main, Some(&relations), &params, Run::default());
    assert!(matches!(
        error,
        Err(FitError::Relations(RelationError::Method { .. }))
    ));
}

#[test]
fn other_factors_are_taken_as_they_are_stacked() {
    let world = World::new(1.0, STRENGTHS);
    let model = world.train(Solver::Eals, 2, false).unwrap().model;
    let stacked = Sides::from_fn(|axis| model.stacked_factors(axis));
    let again = model.with_stacked_factors(&stacked).unwrap();
    for entity in 0..world.entities.len() {
        assert_eq!(again.entity_factors(entity), model.entity_factors(entity));
    }
    let swapped = Sides {
        users: stacked.items,
        items: stacked.users,
    };
    assert!(model.with_stacked_factors(&swapped).is_err());
}

/// Features enter by a product over all rows, whose sums have an order of their own.
#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let world = World::new(1.0, STRENGTHS);
    let (data, scheme) = (world.blocks[0].data(), world.blocks[0].scheme());
    for solver in SOLVERS {
        let trained = |threads: usize| {
            let params = Params {
                threads: Some(threads),
                ..(*world.params(solver, 3)).clone()
            };
            let (main, relations) = ((&data, &scheme), world.relations());
            let params = params.check().unwrap();
            let run = Run::default();
            fit_related(&Cpu, main, Some(&relations), &params, run)
                .unwrap()
                .model
        };
        let (one, three) = (trained(1), trained(3));
        for entity in 0..world.entities.len() {
            assert_eq!(one.entity_factors(entity), three.entity_factors(entity));
        }
        let objective = |model: &Model| model.history().last().unwrap().objective;
        assert_eq!(objective(&one), objective(&three), "{solver:?}");
    }
}

/// The same numbers as entries of a file, with the weights that features have.
#[test]
fn features_are_entries_that_are_all_observed() {
    let world = World::new(1.0, STRENGTHS);
    let (data, scheme) = (world.blocks[0].data(), world.blocks[0].scheme());
    for solver in SOLVERS {
        let trained = |relations: &Relations<'_>| {
            let params = world.params(solver, 4);
            let main = (&data, &scheme);
            let run = Run::default();
            fit_related(&Cpu, main, Some(relations), &params, run)
                .unwrap()
                .model
        };
        let (with, written) = (trained(&world.relations()), trained(&world.written_out()));
        for entity in 0..world.entities.len() {
            let (got, expected) = (with.entity_factors(entity), written.entity_factors(entity));
            let off = relative_distance(all(got.unwrap()), all(expected.unwrap()));
            assert!(off < 1e-4, "{solver:?}, {entity}: {off:.1e}");
        }
    }
}
