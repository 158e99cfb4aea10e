//! Several relations as one problem, against an oracle in `f64` that loops over every cell of every relation.
#![allow(missing_docs, clippy::unwrap_used, clippy::float_cmp)]

mod oracle;

use absentia::data::{Confidence, Duplicates, Interactions, Targets, Triplets};
use absentia::fit::backend::Cpu;
use absentia::fit::{FitError, Fitted, Init, Run, fit, fit_related};
use absentia::model::{Factors, NewEntry, RowEntries, RowWeights, Similarity};
use absentia::relations::{Arrangement, Entity, Relation, RelationError, Relations, TypePair};
use absentia::weights::Scheme;
use absentia::{Axis, CheckedParams, Dense, Model, Params, Sides, Solver};
use oracle::{Dice, relative_distance};

const K: usize = 5;
const LAMBDA: f32 = 0.05;

/// A relation written out: the target and weight of observed cells, and the weights of missing ones.
struct Block {
    first: usize,
    second: usize,
    rows: usize,
    columns: usize,
    cells: Vec<Option<(f32, f32)>>,
    a: Vec<f32>,
    b: Vec<f32>,
    z: usize,
    strength: f32,
}

impl Block {
    fn new(
        ends: (usize, usize),
        shape: (usize, usize),
        z: usize,
        strength: f32,
        seed: u64,
    ) -> Self {
        let mut dice = Dice::new(seed);
        let (rows, columns) = shape;
        let mut cells = vec![None; rows * columns];
        for (at, cell) in cells.iter_mut().enumerate() {
            let (row, column) = (at / columns, at % columns);
            // Some rows and columns have no entry at all.
            if row % 7 == 3 || column % 9 == 4 || dice.unit() > 0.3 {
                continue;
            }
            let target = (dice.unit() * 3.0 - 1.0) as f32;
            *cell = Some((target, (0.3 + dice.unit()) as f32));
        }
        let mut numbers =
            |n: usize| -> Vec<f32> { (0..n).map(|_| (0.4 * dice.unit()) as f32).collect() };
        Self {
            first: ends.0,
            second: ends.1,
            rows,
            columns,
            cells,
            a: numbers(rows * z),
            b: numbers(columns * z),
            z,
            strength,
        }
    }

    fn is_empty_row(&self, row: usize) -> bool {
        (0..self.columns).all(|column| self.cells[row * self.columns + column].is_none())
    }

    fn is_empty_column(&self, column: usize) -> bool {
        (0..self.rows).all(|row| self.cells[row * self.columns + column].is_none())
    }

    /// Weight and target of a cell, as the objective has it.
    fn cell(&self, row: usize, column: usize) -> (f64, f64) {
        let (weight, target) = match self.cells[row * self.columns + column] {
            Some((r, c)) => (f64::from(c), f64::from(r)),
            None if self.is_empty_row(row) || self.is_empty_column(column) => (0.0, 0.0),
            None => {
                let products = (0..self.z).map(|t| {
                    f64::from(self.a[row * self.z + t]) * f64::from(self.b[column * self.z + t])
                });
                (products.sum(), 0.0)
            }
        };
        (f64::from(self.strength) * weight, target)
    }

    fn data(&self) -> Interactions<'static> {
        let (mut rows, mut columns, mut values, mut weights) = (vec![], vec![], vec![], vec![]);
        for (at, cell) in self.cells.iter().enumerate() {
            if let Some((r, c)) = cell {
                rows.push((at / self.columns) as u32);
                columns.push((at % self.columns) as u32);
                values.push(*r);
                weights.push(*c);
            }
        }
        Triplets::new(&rows, &columns)
            .values(&values)
            .weights(&weights)
            .build(self.rows, self.columns, Duplicates::Error)
            .unwrap()
    }

    fn scheme(&self) -> Scheme {
        Scheme::low_rank(
            Dense::from_slice(self.rows, self.z, &self.a).unwrap(),
            Dense::from_slice(self.columns, self.z, &self.b).unwrap(),
        )
    }
}

/// Users, items, tags of items, towns of users, and users as others follow them.
struct World {
    entities: Vec<Entity>,
    blocks: Vec<Block>,
    factors: Vec<Vec<f64>>,
    nu: f32,
}

impl World {
    fn new(nu: f32, strengths: [f32; 3]) -> Self {
        let pair = |first: &str, second: &str, context| TypePair {
            first: first.to_owned(),
            second: second.to_owned(),
            context,
        };
        let given = [
            pair("items", "tags", false),
            pair("users", "towns", false),
            pair("users", "users", true),
        ];
        let Arrangement {
            mut entities,
            pairs,
        } = Arrangement::of(&given).unwrap();
        let counts = [23, 19, 11, 6, 23];
        for (entity, count) in entities.iter_mut().zip(counts) {
            entity.count = count;
        }
        entities[2].regularization = Some(0.2);
        let mut blocks = vec![Block::new((0, 1), (counts[0], counts[1]), 2, 1.0, 1)];
        for (at, &(first, second)) in pairs.iter().enumerate() {
            let shape = (counts[first], counts[second]);
            let (z, seed) = (1 + at % 2, 2 + at as u64);
            blocks.push(Block::new((first, second), shape, z, strengths[at], seed));
        }
        let mut dice = Dice::new(9);
        let mut start = |n: usize| -> Vec<f64> {
            (0..n * K)
                .map(|_| f64::from((dice.unit() - 0.5) as f32))
                .collect()
        };
        let factors = counts.iter().map(|&n| start(n)).collect();
        Self {
            entities,
            blocks,
            factors,
            nu,
        }
    }

    fn relations(&self) -> Relations<'static> {
        let relation = |block: &Block| Relation {
            first: block.first,
            second: block.second,
            data: block.data(),
            scheme: block.scheme(),
            targets: Targets::Raw,
            confidence: Confidence::Column,
            strength: block.strength,
        };
        Relations {
            entities: self.entities.clone(),
            relations: self.blocks[1..].iter().map(relation).collect(),
            weighs_empty: false,
        }
    }

    fn params(&self, solver: Solver, iterations: usize) -> CheckedParams {
        let params = Params::new()
            .factors(K)
            .iterations(iterations)
            .regularization(LAMBDA)
            .reg_exponent(self.nu)
            .targets(Targets::Raw)
            .confidence(Confidence::Column)
            .init_std(0.3)
            .threads(2);
        params.solver(solver).check().unwrap()
    }

    /// Trains from the oracle's factors if `warm`, from random ones otherwise.
    fn train(&self, solver: Solver, iterations: usize, warm: bool) -> Result<Fitted, FitError> {
        let init = if warm {
            let side = |axis: Axis| {
                let own = self.entities.iter().zip(&self.factors);
                let rows: Vec<f32> = own
                    .filter(|(entity, _)| entity.axis == axis)
                    .flat_map(|(_, factors)| factors.iter().map(|x| *x as f32))
                    .collect();
                Factors::from(Dense::from_slice(rows.len() / K, K, &rows).unwrap())
            };
            Init::Given {
                users: side(Axis::User),
                items: side(Axis::Item),
            }
        } else {
            Init::Gaussian
        };
        let run = Run {
            init,
            ..Run::default()
        };
        let (data, scheme) = (self.blocks[0].data(), self.blocks[0].scheme());
        let params = self.params(solver, iterations);
        fit_related(
            &Cpu,
            (&data, &scheme),
            Some(&self.relations()),
            &params,
            run,
        )
    }

    /// Weight, target and the factors of the other end of every cell of a row.
    fn cells_of(&self, entity: usize, row: usize) -> Vec<(f64, f64, &[f64])> {
        let mut cells = Vec::new();
        for block in &self.blocks {
            if block.first == entity {
                let other = self.factors[block.second].chunks(K);
                cells.extend(other.enumerate().map(|(column, y)| {
                    let (w, r) = block.cell(row, column);
                    (w, r, y)
                }));
            }
            if block.second == entity {
                let other = self.factors[block.first].chunks(K);
                cells.extend(other.enumerate().map(|(other_row, x)| {
                    let (w, r) = block.cell(other_row, row);
                    (w, r, x)
                }));
            }
        }
        cells
    }

    fn lambda(&self, entity: usize, row: usize) -> f64 {
        let total: f64 = self.cells_of(entity, row).iter().map(|cell| cell.0).sum();
        let lambda = self.entities[entity].regularization.unwrap_or(LAMBDA);
        let power = if total == 0.0 {
            1.0
        } else {
            total.powf(f64::from(self.nu))
        };
        f64::from(lambda) * power
    }

    fn objective(&self) -> f64 {
        let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
        let mut total = 0.0;
        for block in &self.blocks {
            for row in 0..block.rows {
                for column in 0..block.columns {
                    let (w, r) = block.cell(row, column);
                    let x = &self.factors[block.first][row * K..][..K];
                    let y = &self.factors[block.second][column * K..][..K];
                    total += w * (r - dot(x, y)).powi(2);
                }
            }
        }
        for (entity, factors) in self.factors.iter().enumerate() {
            let rows = factors.chunks(K).enumerate();
            total += rows
                .map(|(row, x)| self.lambda(entity, row) * dot(x, x))
                .sum::<f64>();
        }
        total
    }

    /// One sweep of coordinate steps over every row of the types of one side, then of the other.
    fn sweep(&mut self) {
        for axis in [Axis::User, Axis::Item] {
            for entity in 0..self.entities.len() {
                if self.entities[entity].axis != axis {
                    continue;
                }
                for row in 0..self.entities[entity].count {
                    for f in 0..K {
                        let own = &self.factors[entity][row * K..][..K];
                        let (mut above, mut below) = (0.0, self.lambda(entity, row));
                        for (w, r, other) in self.cells_of(entity, row) {
                            let without: f64 =
                                (0..K).filter(|&g| g != f).map(|g| own[g] * other[g]).sum();
                            above += w * (r - without) * other[f];
                            below += w * other[f] * other[f];
                        }
                        self.factors[entity][row * K + f] = above / below;
                    }
                }
            }
        }
    }

    fn set(&mut self, model: &Model) {
        for entity in 0..self.entities.len() {
            self.factors[entity] = all(model.entity_factors(entity).unwrap()).collect();
        }
    }
}

fn all(factors: &Factors) -> impl Iterator<Item = f64> + '_ {
    (0..factors.rows()).flat_map(|row| factors.row(row).iter().map(|x| f64::from(*x)))
}

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
                let mut world = World::new(nu, [0.3, 0.7, 1.5]);
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
            let mut world = World::new(nu, [0.3, 0.7, 1.5]);
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

#[test]
fn exact_solvers_leave_nothing_to_gain_on_the_side_they_solved_last() {
    let mut world = World::new(1.0, [0.3, 0.7, 1.5]);
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
    let world = World::new(1.0, [0.0; 3]);
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

/// Tags and towns meet in the corner, which neither relation has: whatever the factors, it adds nothing.
#[test]
fn the_corner_weighs_nothing() {
    let mut world = World::new(0.0, [0.5; 3]);
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
    let world = World::new(1.0, [0.3, 0.7, 1.5]);
    let fitted = world.train(Solver::Eals, 2, false).unwrap();
    let (model, main) = (&fitted.model, &world.blocks[0]);
    assert_eq!(model.weights().rank(), main.z);
    assert_eq!(model.parts().user_counts, main.data().user_counts());
    assert_eq!(model.parts().item_counts, main.data().item_counts());
    let related = model.related().unwrap();
    for (relation, block) in related.relations.iter().zip(&world.blocks[1..]) {
        assert_eq!(relation.weights.rank(), block.z);
        assert_eq!(relation.counts.users, block.data().user_counts());
        // Rows without entries have no weight, here as in the main relation.
        let empty = (0..block.rows)
            .find(|&row| block.is_empty_row(row))
            .unwrap();
        assert!(relation.weights.a().row(empty).iter().all(|&x| x == 0.0));
    }
    let names: Vec<&str> = related.entities.iter().map(|e| &e.name[..]).collect();
    assert_eq!(names, ["users", "items", "tags", "towns", "users of users"]);
    assert_eq!(model.stacked_factors(Axis::User).rows(), 23 + 11);
    assert_eq!(model.stacked_factors(Axis::Item).rows(), 19 + 6 + 23);
}

#[test]
fn a_resumed_run_ends_in_the_same_bits() {
    let world = World::new(1.0, [0.3, 0.7, 1.5]);
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
    for entity in 0..5 {
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
    let world = World::new(1.0, [0.3, 0.7, 1.5]);
    let fitted = world.train(Solver::Als, 1, false).unwrap();
    let model = &fitted.model;
    let fold = model.fold_in(Axis::Item);
    let entries = |block: &Block, column: bool, at: usize| -> Vec<NewEntry> {
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
    let (main, tags) = (&world.blocks[0], &world.blocks[1]);
    for item in 0..main.columns {
        let (taken, tagged) = (entries(main, true, item), entries(tags, false, item));
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
        // Attributes alone are enough.
        let alone = fold.solve_related(&known[1..]).unwrap();
        assert!(alone.iter().any(|&x| x != 0.0));
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
    let world = World::new(0.0, [1.0; 3]);
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
    let world = World::new(1.0, [0.3, 0.7, 1.5]);
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
    let world = World::new(1.0, [0.3, 0.7, 1.5]);
    let model = world.train(Solver::Eals, 2, false).unwrap().model;
    let stacked = Sides::from_fn(|axis| model.stacked_factors(axis));
    let again = model.with_stacked_factors(&stacked).unwrap();
    for entity in 0..5 {
        assert_eq!(again.entity_factors(entity), model.entity_factors(entity));
    }
    let swapped = Sides {
        users: stacked.items,
        items: stacked.users,
    };
    assert!(model.with_stacked_factors(&swapped).is_err());
}
