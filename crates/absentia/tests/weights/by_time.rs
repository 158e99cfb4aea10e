//! Weights by when items were there, against loops over all pairs and slices.

use absentia::data::{Duplicates, Interactions, Triplets};
use absentia::error::Axis;
use absentia::model::{NewEntry, RowWeights};
use absentia::weights::{
    Groups, MissingWeights, NewRow, Period, Presence, Product, Scheme, Slices, Strength, Term,
    TimeFactor,
};
use absentia::{Dense, Params, Run, fit};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::{assert_same, brute_mean, missing, new_row};

const DAY: i64 = 86_400;

type Row = (u32, u32, i64);

/// Rows whose items appear one after another; user 0 and item 0 have none.
fn rows(seed: u64, users: u32, items: u32, count: u32) -> Vec<Row> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut rows: Vec<Row> = Vec::new();
    for at in 0..count {
        let newest = 1 + at * (items - 1) / count;
        let (user, item) = (
            1 + rng.next_u32() % (users - 1),
            1 + rng.next_u32() % newest,
        );
        let time = 1_400_000_000 + i64::from(at / 3) * DAY;
        if rows.iter().all(|&(u, i, _)| (u, i) != (user, item)) {
            rows.push((user, item, time));
        }
    }
    rows
}

fn built(rows: &[Row], users: usize, items: usize) -> Interactions<'static> {
    let column = |get: fn(&Row) -> u32| rows.iter().map(get).collect::<Vec<u32>>();
    let times: Vec<i64> = rows.iter().map(|row| row.2).collect();
    Triplets::new(&column(|row| row.0), &column(|row| row.1))
        .times(&times)
        .build(users, items, Duplicates::Error)
        .expect("rows that are sound")
}

fn presence(factor: TimeFactor, slices: usize) -> Presence<Vec<Option<i64>>> {
    Presence {
        slices: Slices::EqualCounts(slices),
        ..Presence::new(factor)
    }
}

/// The slices, written out: the start of each is the time of the row at its place in the order of times.
fn starts(rows: &[Row], slices: usize) -> Vec<i64> {
    let mut times: Vec<i64> = rows.iter().map(|row| row.2).collect();
    times.sort_unstable();
    let mut starts: Vec<i64> = (0..slices)
        .map(|t| times[t * times.len() / slices])
        .collect();
    starts.dedup();
    starts
}

struct Oracle<'r> {
    rows: &'r [Row],
    starts: Vec<i64>,
    c: f64,
    d: f64,
}

impl Oracle<'_> {
    fn slice(&self, time: i64) -> usize {
        self.starts.iter().filter(|&&start| start <= time).count() - 1
    }

    fn there(&self, item: u32, t: usize) -> f64 {
        let own = self.rows.iter().filter(|row| row.1 == item);
        let slices: Vec<usize> = own.map(|row| self.slice(row.2)).collect();
        let (Some(&first), Some(&last)) = (slices.iter().min(), slices.iter().max()) else {
            return 1.0;
        };
        let (n, all) = (slices.len() as f64, self.starts.len());
        if t < first {
            (-self.c * n * (first - t) as f64 / (all - first) as f64).exp()
        } else if t > last {
            (-self.d * n * (t - last) as f64 / (last + 1) as f64).exp()
        } else {
            1.0
        }
    }

    fn age(&self, item: u32) -> f64 {
        let slices = self.starts.len();
        (0..slices).map(|t| self.there(item, t)).sum::<f64>() / slices as f64
    }

    fn available(&self, user: u32, item: u32) -> f64 {
        let own: Vec<&Row> = self.rows.iter().filter(|row| row.0 == user).collect();
        if own.is_empty() {
            return self.age(item);
        }
        let there = own.iter().map(|row| self.there(item, self.slice(row.2)));
        there.sum::<f64>() / own.len() as f64
    }
}

fn assert_weights(weights: &MissingWeights, expected: impl Fn(u32, u32) -> f64) {
    for user in 0..weights.n_users() as u32 {
        for item in 0..weights.n_items() as u32 {
            let (got, want) = (f64::from(weights.weight(user, item)), expected(user, item));
            assert!(
                (got - want).abs() <= 2e-6 * want.max(1e-6),
                "({user}, {item}): {got}, not {want}"
            );
        }
    }
}

#[test]
fn age_and_availability_equal_loops_over_all_pairs() {
    let rows = rows(1, 12, 15, 120);
    let data = built(&rows, 12, 15);
    for (slices, c, d) in [
        (1, 0.1, 0.0),
        (5, 0.1, 0.0),
        (7, 0.4, 0.3),
        (20, 0.0, 1.0),
        (400, 2.0, 0.0),
    ] {
        let oracle = Oracle {
            rows: &rows,
            starts: starts(&rows, slices),
            c: f64::from(c),
            d: f64::from(d),
        };
        let resolve = |factor| {
            let presence = Presence {
                sharpness: c,
                withdrawn: d,
                ..presence(factor, slices)
            };
            let scheme: Scheme = Scheme::by_time(Strength::C0(0.5), presence);
            let weights = scheme.resolve(&data).unwrap();
            assert!(weights.rank() <= scheme.rank_bound(&data));
            assert_same(&weights, &weights.to_scheme().resolve(&data).unwrap(), 0.0);
            weights
        };
        let age = resolve(TimeFactor::Age);
        assert_eq!(age.rank(), 1);
        assert_weights(&age, |_, item| 0.5 * oracle.age(item));
        let available = resolve(TimeFactor::Available);
        assert_eq!(available.rank(), oracle.starts.len());
        assert_weights(&available, |user, item| 0.5 * oracle.available(user, item));
        let both = resolve(TimeFactor::Both);
        assert_weights(&both, |user, item| {
            0.5 * oracle.age(item) * oracle.available(user, item)
        });
    }
}

#[test]
fn age_is_the_share_of_slices_on_a_case_worked_by_hand() {
    // Ten rows, one a day, in five slices of two; item 1 is first seen in slice 3 of 5 (counted from 1).
    let rows: Vec<Row> = (0..10)
        .map(|at| {
            (
                at,
                u32::from(at == 4 || at == 9),
                1_400_000_000 + i64::from(at) * DAY,
            )
        })
        .collect();
    let data = built(&rows, 10, 3);
    let age = |sharpness: f32| {
        let presence = Presence {
            sharpness,
            ..presence(TimeFactor::Age, 5)
        };
        let scheme: Scheme = Scheme::by_time(Strength::C0(1.0), presence);
        let weights = scheme.resolve(&data).unwrap();
        [0, 1, 2].map(|item| weights.weight(0, item))
    };
    assert_eq!(age(0.0).map(f32::to_bits), [1.0_f32; 3].map(f32::to_bits));
    assert_eq!(
        age(1000.0).map(f32::to_bits),
        [1.0_f32, 0.6, 1.0].map(f32::to_bits)
    );
    // Two rows in three slices: one slice before has exp(-0.3 · 2/3), two have its square.
    let one = (-0.2_f64).exp();
    let expected = ((3.0 + one + one * one) / 5.0) as f32;
    assert!((age(0.3)[1] - expected).abs() < 1e-6);
}

#[test]
fn the_order_of_rows_changes_nothing() {
    let mut rows = rows(2, 12, 15, 120);
    let scheme: Scheme = Scheme::by_time(Strength::Mean(0.1), presence(TimeFactor::Both, 6));
    let before = scheme.resolve(&built(&rows, 12, 15)).unwrap();
    rows.reverse();
    let swapped = rows.len() / 3;
    rows.rotate_left(swapped);
    assert_eq!(before, scheme.resolve(&built(&rows, 12, 15)).unwrap());
}

#[test]
fn factors_by_time_multiply_with_every_other_factor() {
    let rows = rows(3, 12, 15, 120);
    let data = built(&rows, 12, 15);
    let oracle = Oracle {
        rows: &rows,
        starts: starts(&rows, 8),
        c: f64::from(0.1_f32),
        d: 0.0,
    };
    let share = |counts: &[u32], at: u32| {
        let root = |n: u32| f64::from(n).sqrt();
        root(counts[at as usize]) / counts.iter().map(|&n| root(n)).sum::<f64>()
    };
    let (users, items) = (data.user_counts(), data.item_counts());
    let product = |factor| {
        let mut product = Product::new(Strength::C0(90.0), Some(0.5), Some(0.5));
        product.presence = Some(presence(factor, 8));
        Scheme::One(Term::Product(product))
    };
    let factors = |user, item| 90.0 * share(&users, user) * share(&items, item);
    let age = product(TimeFactor::Age).resolve(&data).unwrap();
    assert_weights(&age, |u, i| factors(u, i) * oracle.age(i));
    let available = product(TimeFactor::Available).resolve(&data).unwrap();
    assert_weights(&available, |u, i| factors(u, i) * oracle.available(u, i));
    let groups = Scheme::groups(Groups {
        table: Dense::from_fn(2, 3, |s, c| (1 + s + 2 * c) as f32),
        user_segment: (0..12).map(|u| u % 2).collect(),
        item_category: (0..15).map(|i| i % 3).collect(),
    });
    let of_groups = product(TimeFactor::Age).times(groups.clone()).unwrap();
    let weights = of_groups.resolve(&data).unwrap();
    assert_weights(&weights, |u, i| {
        factors(u, i) * oracle.age(i) * f64::from(1 + u % 2 + 2 * (i % 3))
    });
    assert!(
        product(TimeFactor::Available)
            .times(groups.clone())
            .is_none()
    );
    let mut two = Product::new(Strength::C0(1.0), None, None);
    two.presence = Some(presence(TimeFactor::Available, 8));
    two.other = Some(Box::new(groups.terms()[0].clone()));
    let error = Scheme::One(Term::Product(two)).resolve(&data).unwrap_err();
    assert!(error.to_string().contains("use age"), "{error}");
}

#[test]
fn the_mean_is_that_over_missing_entries() {
    let data = built(&rows(4, 12, 15, 120), 12, 15);
    for factor in [TimeFactor::Age, TimeFactor::Available, TimeFactor::Both] {
        let scheme: Scheme = Scheme::by_time(Strength::Mean(0.25), presence(factor, 9));
        let weights = scheme.resolve(&data).unwrap();
        let mean = brute_mean(&data, &weights);
        assert!((mean - 0.25).abs() < 1e-6, "{mean}");
    }
}

#[test]
fn exposed_entries_are_of_no_time() {
    let data = built(&rows(5, 12, 15, 120), 12, 15);
    let shown: Vec<(u32, u32)> = missing(&data).into_iter().step_by(4).collect();
    let (users, items): (Vec<u32>, Vec<u32>) = shown.into_iter().unzip();
    let with = data
        .with_exposed(&users, &items, &vec![2.0; users.len()])
        .unwrap();
    let scheme: Scheme = Scheme::by_time(Strength::C0(0.25), presence(TimeFactor::Both, 9));
    let (plain, exposed) = (
        scheme.resolve(&data).unwrap(),
        scheme.resolve(&with).unwrap(),
    );
    assert_eq!((plain.a(), plain.b()), (exposed.a(), exposed.b()));
}

#[test]
fn release_dates_replace_the_first_row_where_they_are_known() {
    // In milliseconds, as the unit of dates is always the second.
    let rows: Vec<Row> = rows(6, 12, 15, 120)
        .into_iter()
        .map(|(user, item, time)| (user, item, time * 1000))
        .collect();
    let data = built(&rows, 12, 15);
    let slices = starts(&rows, 6);
    let mut released = vec![None; 15];
    released[0] = Some(slices[4] / 1000 + 1);
    released[9] = Some(slices[1] / 1000 + 1);
    // Seen before its release: the row is right.
    released[1] = Some(i64::MAX / 2000);
    let scheme: Scheme = Scheme::by_time(
        Strength::C0(1.0),
        Presence {
            released: Some(released),
            ..presence(TimeFactor::Available, 6)
        },
    );
    let weights = scheme.resolve(&data).unwrap();
    assert_eq!(weights.b().row(0), [0.0, 0.0, 0.0, 0.0, 1.0, 1.0]);
    assert_eq!(weights.b().row(9), [0.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
    let oracle = Oracle {
        rows: &rows,
        starts: slices,
        c: f64::from(0.1_f32),
        d: 0.0,
    };
    let first = (0..6).find(|&t| oracle.there(1, t) >= 1.0).unwrap();
    let there = |t: usize| if t < first { 0.0 } else { 1.0 };
    assert_eq!(weights.b().row(1), [0, 1, 2, 3, 4, 5].map(there));
    let other = (0..6).map(|t| oracle.there(12, t) as f32);
    assert_eq!(weights.b().row(12), other.collect::<Vec<f32>>());
    assert_same(&weights, &weights.to_scheme().resolve(&data).unwrap(), 0.0);
    assert!(scheme.spec().is_none());
}

#[test]
fn slices_of_the_calendar_are_those_between_the_first_and_the_last_row() {
    // 2014-05-13 to 2014-06-20 and so on: three rows a day.
    let rows = rows(7, 12, 15, 120);
    let data = built(&rows, 12, 15);
    let (first, last) = (rows[0].2, rows[rows.len() - 1].2);
    let days = (last / DAY - first / DAY + 1) as usize;
    for (period, expected) in [(Period::Day, days), (Period::Month, 2), (Period::Year, 1)] {
        let presence = Presence {
            slices: Slices::Calendar(period),
            ..presence(TimeFactor::Available, 1)
        };
        let scheme: Scheme = Scheme::by_time(Strength::C0(1.0), presence);
        assert_eq!(
            scheme.resolve(&data).unwrap().rank(),
            expected,
            "{period:?}"
        );
        assert_eq!(scheme.rank_bound(&data), expected);
    }
}

#[test]
fn new_rows_are_of_their_own_times_or_of_the_last_slice() {
    let rows = rows(8, 12, 15, 120);
    let data = built(&rows, 12, 15);
    let scheme: Scheme = Scheme::by_time(Strength::C0(0.5), presence(TimeFactor::Both, 6));
    let weights = scheme.resolve(&data).unwrap();
    let times = |own: &dyn Fn(&Row) -> bool| -> Vec<i64> {
        rows.iter()
            .filter(|row| own(row))
            .map(|row| row.2)
            .collect()
    };
    let new = |axis, times: &[i64]| {
        let given = NewRow {
            count: times.len() as u32,
            times,
            ..NewRow::default()
        };
        weights.new_row(axis, &given).unwrap()
    };
    for at in 0..12 {
        let user = new(Axis::User, &times(&|row| row.0 == at));
        assert_eq!(user, weights.a().row(at as usize), "user {at}");
        let item = new(Axis::Item, &times(&|row| row.1 == at));
        assert_eq!(item, weights.b().row(at as usize), "item {at}");
    }
    let user = new_row(&weights, Axis::User, 3, &[]).unwrap();
    assert_eq!(user, [0.0, 0.0, 0.0, 0.0, 0.0, 0.5]);
    let last = rows[rows.len() - 1].2;
    assert_eq!(
        new_row(&weights, Axis::Item, 3, &[]).unwrap(),
        new(Axis::Item, &[last, last, last])
    );
}

#[test]
fn a_user_that_is_folded_in_has_the_weights_of_its_times() {
    let rows = rows(9, 12, 15, 120);
    let data = built(&rows, 12, 15);
    let scheme: Scheme = Scheme::by_time(Strength::Mean(0.2), presence(TimeFactor::Available, 6));
    let params = Params::new().factors(3).iterations(5).check().unwrap();
    let model = fit(&data, &scheme, &params, Run::default()).unwrap().model;
    let fold_in = model.fold_in(Axis::User);
    for user in 1..12 {
        let own = rows.iter().filter(|row| row.0 == user);
        let entries: Vec<NewEntry> = own
            .map(|&(_, item, time)| NewEntry {
                time: Some(time),
                ..NewEntry::new(item)
            })
            .collect();
        let solved = |weights| fold_in.solve(&entries, &weights).unwrap();
        assert_eq!(solved(RowWeights::Frozen), solved(RowWeights::Like(user)));
    }
}

#[test]
fn a_weight_says_when_its_item_was_first_seen() {
    let rows = rows(10, 12, 15, 120);
    let data = built(&rows, 12, 15);
    let mut product = Product::new(Strength::C0(0.5), Some(0.25), None);
    product.presence = Some(Presence {
        withdrawn: 0.5,
        ..presence(TimeFactor::Both, 6)
    });
    let weights = Scheme::One(Term::Product(product)).resolve(&data).unwrap();
    let explained = weights.explain(3, 10);
    assert_eq!(explained.parts[0].scheme, "popularity*age*available");
    let text = explained.to_string();
    let counts = data.item_counts();
    let popular = format!("{} of {} interactions", counts[10], rows.len());
    for expected in [
        "0.5 (the strength c0) × ",
        &popular,
        "the share of time in which the item was there",
        "the share of the user's rows at times when the item was there (first seen in slice ",
        ", last in slice ",
    ] {
        assert!(text.contains(expected), "{text}");
    }
    assert!(weights.explain(3, 0).to_string().contains("never seen"));
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let rows = rows(11, 12, 15, 120);
    let data = built(&rows, 12, 15);
    let untimed = Triplets::new(&[0, 1], &[0, 1])
        .build(2, 2, Duplicates::Error)
        .unwrap();
    let error = |presence, data: &Interactions<'_>| {
        let scheme: Scheme = Scheme::by_time(Strength::C0(1.0), presence);
        scheme.resolve(data).unwrap_err().to_string()
    };
    let usual = || presence(TimeFactor::Age, 20);
    let text = error(usual(), &untimed);
    assert!(
        text.contains("age: ") && text.contains("the data has none; give it a column of times"),
        "{text}"
    );
    for (presence, expected) in [
        (
            Presence {
                sharpness: -1.0,
                ..usual()
            },
            "sharpness is -1",
        ),
        (
            Presence {
                withdrawn: f32::NAN,
                ..usual()
            },
            "withdrawn is NaN",
        ),
        (
            Presence {
                slices: Slices::EqualCounts(0),
                ..usual()
            },
            "slices is 0; it must be from 1 to 1000",
        ),
        (
            Presence {
                released: Some(vec![None; 3]),
                ..usual()
            },
            "released has 3 rows, expected 15",
        ),
    ] {
        let text = error(presence, &data);
        assert!(text.contains(expected), "{text}");
    }
    let far = built(&[(0, 0, 0), (1, 1, 5000 * DAY)], 2, 2);
    let daily = Presence {
        slices: Slices::Calendar(Period::Day),
        ..usual()
    };
    assert!(error(daily, &far).contains("the data has 5001 slices"));
}
