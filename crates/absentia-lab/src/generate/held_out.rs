//! Test data: whether users would like items that they were not shown in training.

use super::generator::Generator;
use super::seen::Seen;
use super::streams::Purpose;
use super::user::{Feedback, User, Visit};
use absentia::data::{DataError, Interactions};

/// How the items to test on are chosen among those a user was not shown in training.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestItems {
    /// Each with the same probability: unbiased, it measures what the user would like if it were shown.
    Uniform,
    /// By the exposure process, like ordinary held-out data: it rewards guessing what is shown.
    Exposure,
}

impl User<'_> {
    /// Yields the feedback of the user on `count` items not shown in training, or on all of them if they
    /// are fewer (under [`TestItems::Exposure`], on those found in a reasonable number of draws).
    #[must_use]
    pub fn held_out(&self, how: TestItems, count: usize) -> Feedback {
        let mut seen = Seen::new(self.generator.params().items);
        let training = self.feedback_with(&mut seen);
        for &item in training.liked.iter().chain(&training.refused) {
            seen.insert(item);
        }
        let shown = training.shown();
        let mut feedback = match how {
            TestItems::Uniform => uniform(self, &mut seen, shown, count),
            TestItems::Exposure => exposed(self.visit(Purpose::HeldOutExposure, &mut seen), count),
        };
        feedback.sort();
        feedback
    }
}

impl Generator {
    /// Yields the liked items of every user's held-out ones, as a matrix of the training shape.
    ///
    /// # Errors
    /// None is known; the matrix checks its rows as it checks anyone's.
    pub fn held_out(
        &self,
        how: TestItems,
        count: usize,
    ) -> Result<Interactions<'static>, DataError> {
        self.collect(|user, _| user.held_out(how, count).liked)
    }
}

fn uniform(user: &User<'_>, seen: &mut Seen, shown: usize, count: usize) -> Feedback {
    let items = user.generator.params().items;
    let mut visit = user.visit(Purpose::HeldOutUniform, seen);
    // Drawing until something new comes up is fast while most items are new; else they are listed.
    if items / 4 >= shown + count {
        while visit.feedback.shown() < count {
            let item = visit.stream.below(items) as u32;
            visit.show(item);
        }
        return visit.feedback;
    }
    let mut rest: Vec<u32> = (0..items as u32)
        .filter(|&item| !visit.seen.contains(item))
        .collect();
    for at in 0..count.min(rest.len()) {
        let other = at + visit.stream.below(rest.len() - at);
        rest.swap(at, other);
        visit.show(rest[at]);
    }
    visit.feedback
}

fn exposed(mut visit: Visit<'_>, count: usize) -> Feedback {
    const DRAWS_PER_ITEM: u64 = 200;
    let patience = DRAWS_PER_ITEM.saturating_mul(count as u64);
    while visit.feedback.shown() < count && visit.feedback.draws < patience {
        visit.show_drawn();
    }
    visit.feedback
}
