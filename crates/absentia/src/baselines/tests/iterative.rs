//! Methods that go pass by pass.

use super::super::random::{below, of_pass, shuffled, unit};
use super::*;

const LAMBDA: f64 = 0.2;

/// One coordinate-descent pass over P given Q, over every entry of the matrix.
fn coordinate_pass(r: &Matrix, w: &Matrix, p: &mut Matrix, q: &Matrix) {
    for (u, p_u) in p.iter_mut().enumerate() {
        for f in 0..K {
            let (mut pull, mut curvature) = (0.0, LAMBDA);
            for (i, q_i) in q.iter().enumerate() {
                let rest = dot(p_u, q_i) - p_u[f] * q_i[f];
                pull += w[u][i] * (r[u][i] - rest) * q_i[f];
                curvature += w[u][i] * q_i[f] * q_i[f];
            }
            p_u[f] = pull / curvature;
        }
    }
}

fn transposed(a: &Matrix) -> Matrix {
    (0..a[0].len())
        .map(|col| a.iter().map(|row| row[col]).collect())
        .collect()
}

#[test]
fn ials1_takes_the_steps_of_coordinate_descent_over_every_entry() {
    for vary in [false, true] {
        let small = Small::new(0.25, vary);
        let (mut p, mut q) = (small.p.clone(), small.q.clone());
        let (rt, wt) = (transposed(&small.r), transposed(&small.w));
        for _ in 0..3 {
            coordinate_pass(&small.r, &small.w, &mut p, &q);
            coordinate_pass(&rt, &wt, &mut q, &p);
        }
        let scheme = Scheme::uniform(0.25);
        let fitted = small.train(&scheme, Small::params(vary, Baseline::Ials1));
        assert_close(&matrix(fitted.model.user_factors()), &p, 2e-4);
        assert_close(&matrix(fitted.model.item_factors()), &q, 2e-4);
        let (want, got) = (small.objective(&p, &q, LAMBDA), last(&fitted));
        assert!((got - want).abs() < 1e-4 * want, "{got} against {want}");
    }
}

fn last(fitted: &Fitted) -> f64 {
    fitted.model.history().last().unwrap().objective.total()
}

/// The part of J that row u has, recomputed.
fn row_loss(r: &[f64], w: &[f64], p_u: &[f64], q: &Matrix) -> f64 {
    let entry = |(i, q_i): (usize, &Vec<f64>)| w[i] * (r[i] - dot(p_u, q_i)).powi(2);
    q.iter().enumerate().map(entry).sum::<f64>() + LAMBDA * dot(p_u, p_u)
}

/// A gradient step with backtracking that evaluates the loss at every try.
fn searched_step(r: &[f64], w: &[f64], p_u: &mut Vec<f64>, q: &Matrix) {
    let mut g: Vec<f64> = p_u.iter().map(|x| 2.0 * LAMBDA * x).collect();
    for (i, q_i) in q.iter().enumerate() {
        let pull = 2.0 * w[i] * (dot(p_u, q_i) - r[i]);
        g.iter_mut().zip(q_i).for_each(|(g, q)| *g += pull * q);
    }
    if dot(&g, &g) < 1e-4 {
        return;
    }
    let (before, mut step) = (row_loss(r, w, p_u, q), 1.0);
    for _ in 0..10 {
        let moved: Vec<f64> = p_u.iter().zip(&g).map(|(x, g)| x - step * g).collect();
        if row_loss(r, w, &moved, q) <= before - 0.3 * step * dot(&g, &g) {
            *p_u = moved;
            return;
        }
        step *= 0.3;
    }
}

#[test]
fn rcd_takes_the_gradient_steps_that_a_search_on_the_loss_itself_finds() {
    for vary in [false, true] {
        let small = Small::new(0.25, vary);
        let (mut p, mut q) = (small.p.clone(), small.q.clone());
        let (rt, wt) = (transposed(&small.r), transposed(&small.w));
        for iteration in 1..=3 {
            for node in shuffled(&mut of_pass(4, iteration), USERS + ITEMS) {
                let node = node as usize;
                if node < USERS {
                    searched_step(&small.r[node], &small.w[node], &mut p[node], &q);
                } else {
                    let item = node - USERS;
                    searched_step(&rt[item], &wt[item], &mut q[item], &p);
                }
            }
        }
        let scheme = Scheme::uniform(0.25);
        let fitted = small.train(&scheme, Small::params(vary, Baseline::Rcd));
        assert_close(&matrix(fitted.model.user_factors()), &p, 2e-4);
        assert_close(&matrix(fitted.model.item_factors()), &q, 2e-4);
        let objectives = fitted.model.history().iter().map(|s| s.objective.total());
        assert!(objectives.collect::<Vec<_>>().is_sorted_by(|x, y| x >= y));
    }
}

#[test]
fn rcd_and_ials1_end_where_exact_solves_end() {
    let small = Small::new(0.25, false);
    let scheme = Scheme::uniform(0.25);
    let end = |solver: Method| {
        let params = Small::params(false, solver).iterations(800);
        last(&small.train(&scheme, params))
    };
    let exact = end(Solver::Als.into());
    for solver in [Baseline::Ials1, Baseline::Rcd] {
        let off = (end(solver.into()) - exact).abs() / exact;
        assert!(off < 1e-3, "{}: {off}", solver.name());
    }
}

#[test]
fn sgd_follows_its_update_entry_by_entry() {
    for vary in [false, true] {
        let small = Small::new(0.0, vary);
        let (mut p, mut q) = (small.p.clone(), small.q.clone());
        let entries: Vec<(usize, usize)> = (0..USERS)
            .flat_map(|u| (0..ITEMS).map(move |i| (u, i)))
            .filter(|&(u, i)| small.w[u][i] > 0.0)
            .collect();
        let count = |pick: &dyn Fn(&(usize, usize)) -> bool| {
            entries.iter().filter(|entry| pick(entry)).count() as f64
        };
        for iteration in 1..=3 {
            for at in shuffled(&mut of_pass(4, iteration), entries.len()) {
                let (u, i) = entries[at as usize];
                let pull = small.w[u][i] * (small.r[u][i] - dot(&p[u], &q[i]));
                let (n_u, n_i) = (count(&|e| e.0 == u), count(&|e| e.1 == i));
                for f in 0..K {
                    let (x, y) = (p[u][f], q[i][f]);
                    p[u][f] += 0.02 * (pull * y - LAMBDA / n_u * x);
                    q[i][f] += 0.02 * (pull * x - LAMBDA / n_i * y);
                }
            }
        }
        let params = Small::params(vary, Baseline::SgdObserved).learning_rate(0.02);
        let fitted = small.train(&Scheme::uniform(0.0), params);
        assert_close(&matrix(fitted.model.user_factors()), &p, 1e-4);
        assert_close(&matrix(fitted.model.item_factors()), &q, 1e-4);
        let (want, got) = (small.objective(&p, &q, LAMBDA), last(&fitted));
        assert!((got - want).abs() < 1e-4 * want, "{got} against {want}");
    }
}

#[test]
fn bpr_follows_its_update_triple_by_triple() {
    let small = Small::new(0.5, false);
    let entries: Vec<(usize, usize)> = (0..USERS)
        .flat_map(|u| (0..ITEMS).map(move |i| (u, i)))
        .filter(|&(u, i)| small.r[u][i] > 0.0)
        .collect();
    let (mut p, mut q, mut loss) = (small.p.clone(), small.q.clone(), 0.0);
    for iteration in 1..=3 {
        let mut random = of_pass(4, iteration);
        loss = 0.0;
        for _ in 0..entries.len() {
            let (u, i) = entries[below(&mut random, entries.len())];
            let j = loop {
                let j = (unit(&mut random) * ITEMS as f64) as usize;
                if small.r[u][j] == 0.0 {
                    break j;
                }
            };
            let x = dot(&p[u], &q[i]) - dot(&p[u], &q[j]);
            loss += (1.0 + (-x).exp()).ln();
            let s = 1.0 / (1.0 + x.exp());
            for f in 0..K {
                let (a, b, c) = (p[u][f], q[i][f], q[j][f]);
                p[u][f] += 0.05 * (s * (b - c) - LAMBDA * a);
                q[i][f] += 0.05 * (s * a - LAMBDA * b);
                q[j][f] += 0.05 * (-s * a - LAMBDA * c);
            }
        }
    }
    let scheme = Scheme::uniform(0.5);
    let fitted = small.train(&scheme, Small::params(false, Baseline::Bpr));
    assert_close(&matrix(fitted.model.user_factors()), &p, 1e-4);
    assert_close(&matrix(fitted.model.item_factors()), &q, 1e-4);
    let got = fitted.model.history().last().unwrap().objective.observed;
    assert!((got - loss).abs() < 1e-4 * loss, "{got} against {loss}");
}
