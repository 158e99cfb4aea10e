//! One user: what they were shown, and what they made of it.

use super::generator::Generator;
use super::seen::Seen;
use super::streams::{Purpose, RandomStream};

/// What a user made of the items they were shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Feedback {
    /// Items shown and liked, rising: the observed entries.
    pub liked: Vec<u32>,
    /// Items shown and not liked, rising: the true negatives among the missing entries.
    pub refused: Vec<u32>,
    /// Number of draws `n_u`, repeats of the same item counted.
    pub draws: u64,
}

/// A user of a [`Generator`], with the truth about them.
///
/// Costs `O(rank)` to make; [`feedback`](User::feedback) costs `O(n_u)`, `O(items)` bits of memory.
#[derive(Clone, Debug)]
pub struct User<'g> {
    pub(super) generator: &'g Generator,
    pub(super) number: u32,
    segment: usize,
    vector: Vec<f32>,
}

impl<'g> User<'g> {
    pub(super) fn new(generator: &'g Generator, number: u32) -> Self {
        let params = generator.params();
        let mut stream = generator.streams.stream(Purpose::User, number.into());
        Self {
            generator,
            number,
            segment: stream.below(params.segments),
            vector: super::taste::user_vector(&mut stream, params.rank),
        }
    }

    /// The group of users who are shown the same as this one.
    #[must_use]
    pub fn segment(&self) -> usize {
        self.segment
    }

    /// Number of entries the user has.
    #[must_use]
    pub fn quota(&self) -> u64 {
        self.generator.quota(self.number)
    }

    /// Chance that the user likes the item once it is shown.
    ///
    /// # Panics
    /// If there is no such item.
    #[must_use]
    pub fn like_probability(&self, item: u32) -> f64 {
        let Generator {
            taste, catalogue, ..
        } = self.generator;
        taste.like_probability(&self.vector, catalogue.vector(item))
    }

    /// Yields what the user was shown in training and what they liked of it.
    #[must_use]
    pub fn feedback(&self) -> Feedback {
        self.feedback_with(&mut Seen::new(self.generator.params().items))
    }

    /// As [`feedback`](Self::feedback), with an empty set that is empty again afterwards.
    pub(super) fn feedback_with(&self, seen: &mut Seen) -> Feedback {
        let mut feedback = self.shown_with(seen);
        feedback.sort();
        feedback
    }

    /// Yields the items liked alone, rising, and leaves what was refused unsorted.
    pub(super) fn liked_with(&self, seen: &mut Seen) -> Vec<u32> {
        let mut liked = self.shown_with(seen).liked;
        liked.sort_unstable();
        liked
    }

    /// Yields what the user made of the items in the order in which they were shown.
    fn shown_with(&self, seen: &mut Seen) -> Feedback {
        let items = self.generator.params().items;
        let mut visit = self.visit(Purpose::Training, seen);
        let quota = self.quota() as usize;
        // Finding rare items by chance could take for ever; users normally stop far earlier.
        let patience = 20 * items as u64 + 50 * quota as u64;
        while visit.feedback.liked.len() < quota && visit.feedback.draws < patience {
            visit.show_few(quota);
        }
        visit.show_rest(quota, items as u32);
        let feedback = visit.feedback;
        seen.remove_all(&feedback.liked);
        seen.remove_all(&feedback.refused);
        feedback
    }

    /// Starts showing items that are not in `seen` yet.
    pub(super) fn visit<'v>(&'v self, purpose: Purpose, seen: &'v mut Seen) -> Visit<'v> {
        Visit {
            user: self,
            stream: self.generator.streams.stream(purpose, self.number.into()),
            seen,
            feedback: Feedback::default(),
        }
    }
}

impl Feedback {
    /// Number of different items shown.
    #[must_use]
    pub fn shown(&self) -> usize {
        self.liked.len() + self.refused.len()
    }

    pub(super) fn sort(&mut self) {
        self.liked.sort_unstable();
        self.refused.sort_unstable();
    }
}

/// A user being shown one item after the other.
pub(super) struct Visit<'v> {
    user: &'v User<'v>,
    pub(super) stream: RandomStream,
    pub(super) seen: &'v mut Seen,
    pub(super) feedback: Feedback,
}

impl Visit<'_> {
    /// Shows a few items drawn by the exposure process, until `quota` were liked in all.
    ///
    /// Drawing a few before deciding on the first lets the processor fetch their vectors together.
    fn show_few(&mut self, quota: usize) {
        const FEW: usize = 16;
        let (showing, segment) = (&self.user.generator.showing, self.user.segment);
        let items: [u32; FEW] = std::array::from_fn(|_| showing.draw(segment, &mut self.stream));
        let probabilities = items.map(|item| self.user.like_probability(item));
        for (item, probability) in items.into_iter().zip(probabilities) {
            if self.feedback.liked.len() < quota {
                self.decide(item, probability);
            }
        }
    }

    /// Shows an item drawn by the exposure process.
    pub(super) fn show_drawn(&mut self) {
        let item = self
            .user
            .generator
            .showing
            .draw(self.user.segment, &mut self.stream);
        self.show(item);
    }

    /// Shows an item.
    pub(super) fn show(&mut self, item: u32) {
        self.decide(item, self.user.like_probability(item));
    }

    /// The user decides whether to like an item; an item seen before is skipped.
    fn decide(&mut self, item: u32, probability: f64) {
        self.feedback.draws += 1;
        if !self.seen.insert(item) {
            return;
        }
        if self.stream.happens(probability) {
            self.feedback.liked.push(item);
        } else {
            self.feedback.refused.push(item);
        }
    }

    /// Shows the items in order until the quota is met, and has refused ones liked if that is not
    /// enough: the last resort of a user with a large quota who likes next to nothing.
    fn show_rest(&mut self, quota: usize, items: u32) {
        for item in 0..items {
            if self.feedback.liked.len() >= quota {
                return;
            }
            if !self.seen.contains(item) {
                self.show(item);
            }
        }
        while self.feedback.liked.len() < quota {
            let Some(item) = self.feedback.refused.pop() else {
                return;
            };
            self.feedback.liked.push(item);
        }
    }
}
