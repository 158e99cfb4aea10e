//! A world of several relations, written out cell by cell.

use absentia::data::{Confidence, Duplicates, Interactions, Targets, Triplets};
use absentia::fit::backend::Cpu;
use absentia::fit::{FitError, Fitted, Init, Run, fit_related};
use absentia::model::{Factors, NewEntry};
use absentia::relations::{
    Arrangement, Content, Entity, Features, Relation, RelationEntries, Relations, Scaling, TypePair,
};
use absentia::weights::Scheme;
use absentia::{Axis, CheckedParams, Dense, Model, Params, Solver};

use crate::oracle::Dice;

/// Strengths of the relations beside the main one.
pub(crate) const STRENGTHS: [f32; 5] = [0.3, 0.7, 1.5, 0.8, 0.4];

pub(crate) const K: usize = 5;
const LAMBDA: f32 = 0.05;

/// A relation written out: the target and weight of observed cells, and the weights of missing ones.
pub(crate) struct Block {
    pub(crate) first: usize,
    pub(crate) second: usize,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) cells: Vec<Option<(f32, f32)>>,
    pub(crate) a: Vec<f32>,
    pub(crate) b: Vec<f32>,
    pub(crate) z: usize,
    pub(crate) strength: f32,
    /// Features instead of entries, and their numbers before they were scaled.
    pub(crate) features: Option<(Features, Dense)>,
}

impl Block {
    pub(crate) fn new(
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
            features: None,
        }
    }

    /// Features of every row but some; each entry weighs one over the number of columns.
    pub(crate) fn of_features(
        ends: (usize, usize),
        (rows, columns): (usize, usize),
        (strength, scaling): (f32, Scaling),
        seed: u64,
    ) -> Self {
        let mut dice = Dice::new(seed);
        let values = Dense::from_fn(rows, columns, |_, column| {
            (3.0 * dice.unit() - 1.0) as f32 * (1 + column) as f32
        });
        let known: Vec<bool> = (0..rows).map(|row| row % 5 != 2).collect();
        let features = Features::new(&values, known.clone(), scaling).unwrap();
        let weight = 1.0 / columns as f32;
        let cell = |at: usize| {
            let (row, column) = (at / columns, at % columns);
            known[row].then(|| (features.targets().row(row)[column], weight))
        };
        Self {
            first: ends.0,
            second: ends.1,
            rows,
            columns,
            cells: (0..rows * columns).map(cell).collect(),
            a: known
                .iter()
                .map(|&known| f32::from(u8::from(known)))
                .collect(),
            b: vec![weight; columns],
            z: 1,
            strength,
            features: Some((features, values)),
        }
    }

    /// The number of entries of each row.
    pub(crate) fn counts(&self) -> Vec<u32> {
        let of_row = |cells: &[Option<(f32, f32)>]| cells.iter().flatten().count() as u32;
        self.cells.chunks(self.columns).map(of_row).collect()
    }

    /// The numbers of a row before they were scaled; none if it has no features.
    pub(crate) fn raw_features(&self, row: usize) -> Vec<NewEntry> {
        let Some((features, values)) = &self.features else {
            return Vec::new();
        };
        if !features.known()[row] {
            return Vec::new();
        }
        let numbers = values.row(row).iter().enumerate();
        let entry = |(column, &x): (usize, &f32)| NewEntry::new(column as u32).value(x);
        numbers.map(entry).collect()
    }

    pub(crate) fn is_empty_row(&self, row: usize) -> bool {
        (0..self.columns).all(|column| self.cells[row * self.columns + column].is_none())
    }

    pub(crate) fn is_empty_column(&self, column: usize) -> bool {
        (0..self.rows).all(|row| self.cells[row * self.columns + column].is_none())
    }

    /// Weight and target of a cell, as the objective has it.
    pub(crate) fn cell(&self, row: usize, column: usize) -> (f64, f64) {
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

    pub(crate) fn data(&self) -> Interactions<'static> {
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

    fn entries(&self) -> Content<'static> {
        Content::Entries(Box::new(RelationEntries {
            data: self.data(),
            scheme: self.scheme(),
            targets: Targets::Raw,
            confidence: Confidence::Column,
        }))
    }

    pub(crate) fn scheme(&self) -> Scheme {
        Scheme::low_rank(
            Dense::from_slice(self.rows, self.z, &self.a).unwrap(),
            Dense::from_slice(self.columns, self.z, &self.b).unwrap(),
        )
    }
}

/// Users, items, tags of items, towns of users, and users as others follow them.
pub(crate) struct World {
    pub(crate) entities: Vec<Entity>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) factors: Vec<Vec<f64>>,
    pub(crate) nu: f32,
}

impl World {
    pub(crate) fn new(nu: f32, strengths: [f32; 5]) -> Self {
        let pair = |first: &str, second: &str, context| TypePair {
            first: first.to_owned(),
            second: second.to_owned(),
            context,
        };
        let given = [
            pair("items", "tags", false),
            pair("users", "towns", false),
            pair("users", "users", true),
            pair("items", "vectors", false),
            pair("users", "numbers", false),
        ];
        let Arrangement {
            mut entities,
            pairs,
            ..
        } = Arrangement::of(&given).unwrap();
        let counts = [23, 19, 11, 6, 23, 9, 4];
        for (entity, count) in entities.iter_mut().zip(counts) {
            entity.count = count;
        }
        entities[2].regularization = Some(0.2);
        let mut blocks = vec![Block::new((0, 1), (counts[0], counts[1]), 2, 1.0, 1)];
        for (at, &(first, second)) in pairs.iter().enumerate() {
            let shape = (counts[first], counts[second]);
            let (z, seed, strength) = (1 + at % 2, 2 + at as u64, strengths[at]);
            let ends = (first, second);
            blocks.push(match at {
                3 => Block::of_features(ends, shape, (strength, Scaling::Together), seed),
                4 => Block::of_features(ends, shape, (strength, Scaling::Columns), seed),
                _ => Block::new(ends, shape, z, strength, seed),
            });
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

    pub(crate) fn relations(&self) -> Relations<'static> {
        self.relations_of(|block| match &block.features {
            Some((features, _)) => Content::Features(features.clone()),
            None => block.entries(),
        })
    }

    /// The same with entries for features.
    pub(crate) fn written_out(&self) -> Relations<'static> {
        self.relations_of(Block::entries)
    }

    fn relations_of(&self, content: impl Fn(&Block) -> Content<'static>) -> Relations<'static> {
        let relation = |block: &Block| Relation {
            first: block.first,
            second: block.second,
            content: content(block),
            strength: block.strength,
        };
        Relations {
            entities: self.entities.clone(),
            relations: self.blocks[1..].iter().map(relation).collect(),
            weighs_empty: false,
        }
    }

    pub(crate) fn params(&self, solver: Solver, iterations: usize) -> CheckedParams {
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
    pub(crate) fn train(
        &self,
        solver: Solver,
        iterations: usize,
        warm: bool,
    ) -> Result<Fitted, FitError> {
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
    pub(crate) fn cells_of(&self, entity: usize, row: usize) -> Vec<(f64, f64, &[f64])> {
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

    pub(crate) fn lambda(&self, entity: usize, row: usize) -> f64 {
        let total: f64 = self.cells_of(entity, row).iter().map(|cell| cell.0).sum();
        let lambda = self.entities[entity].regularization.unwrap_or(LAMBDA);
        let power = if total == 0.0 {
            1.0
        } else {
            total.powf(f64::from(self.nu))
        };
        f64::from(lambda) * power
    }

    pub(crate) fn objective(&self) -> f64 {
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
    pub(crate) fn sweep(&mut self) {
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

    pub(crate) fn set(&mut self, model: &Model) {
        for entity in 0..self.entities.len() {
            self.factors[entity] = all(model.entity_factors(entity).unwrap()).collect();
        }
    }
}

pub(crate) fn all(factors: &Factors) -> impl Iterator<Item = f64> + '_ {
    (0..factors.rows()).flat_map(|row| factors.row(row).iter().map(|x| f64::from(*x)))
}
