//! What to generate.

use super::error::GenerateError;

/// Share of the items a user likes that their quota may reach; beyond it, finding the last ones by
/// chance takes too long and what is shown is no longer the exposure process.
const REACHABLE: f64 = 0.4;

/// Which items users get to see.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum ExposureModel {
    /// Popular items, and those of the categories that the user's segment is shown.
    Segmented {
        /// Standard deviation of the logarithm of affinity(segment, category); 0 is [`Popularity`](ExposureModel::Popularity).
        strength: f32,
    },
    /// Popular items, the same for all users.
    Popularity,
    /// Every item with the same probability: the control, in which all missing entries mean the same.
    Uniform,
}

/// Shape and statistics of the data to generate.
///
/// | Name | Default | Range |
/// | --- | --- | --- |
/// | `users`, `items` | – | 1 to 2³² − 1 |
/// | `entries` | – | 1 to 0.4 · `like_rate` · `users` · `items` |
/// | `rank` | 8 | 1 to 1024 |
/// | `segments` | 8 | 1 to 4096 |
/// | `categories` | 24 | 1 to 4096 |
/// | `popularity_exponent` | 0.8 | 0 to 3 |
/// | `activity_exponent` | 0.6 | 0 to 3 |
/// | `exposure` | segmented, strength 1.5 | strength 0 to 5 |
/// | `like_rate` | 0.2 | above 0, below 1 |
/// | `taste` | 3 | 0 to 100 |
/// | `noise` | 0.05 | 0 to 1 |
/// | `seed` | 0 | any |
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct GeneratorParams {
    /// Number of users M.
    pub users: usize,
    /// Number of items N.
    pub items: usize,
    /// Number of observed entries |R|; the data has exactly as many.
    pub entries: u64,
    /// Rank of the planted taste.
    pub rank: usize,
    /// Number of groups of users who are shown the same.
    pub segments: usize,
    /// Number of groups of items that are shown together.
    pub categories: usize,
    /// Exponent s of popularity ∝ rank^−s.
    pub popularity_exponent: f32,
    /// Exponent s of a user's number of entries ∝ rank^−s.
    pub activity_exponent: f32,
    /// Which items users get to see.
    pub exposure: ExposureModel,
    /// Share of all pairs that would be liked if they were shown.
    pub like_rate: f32,
    /// Standard deviation of the log-odds of liking: how much tastes differ.
    pub taste: f32,
    /// Share of decisions made by a coin of bias `like_rate` instead of taste.
    pub noise: f32,
    /// Seed of all random streams.
    pub seed: u64,
}

impl GeneratorParams {
    /// Yields the defaults for a shape.
    #[must_use]
    pub fn new(users: usize, items: usize, entries: u64) -> Self {
        Self {
            users,
            items,
            entries,
            rank: 8,
            segments: 8,
            categories: 24,
            popularity_exponent: 0.8,
            activity_exponent: 0.6,
            exposure: ExposureModel::Segmented { strength: 1.5 },
            like_rate: 0.2,
            taste: 3.0,
            noise: 0.05,
            seed: 0,
        }
    }

    /// Yields the shape of the paper's Yelp data: 25,677 × 25,815 with 731,671 entries.
    #[must_use]
    pub fn yelp_shape() -> Self {
        Self::new(25_677, 25_815, 731_671)
    }

    /// Yields the shape of the paper's Amazon data: 117,176 × 75,389 with 5,020,705 entries.
    #[must_use]
    pub fn amazon_shape() -> Self {
        Self::new(117_176, 75_389, 5_020_705)
    }

    /// The largest number of entries a single user may have.
    pub(super) fn most_per_user(&self) -> u64 {
        let liked = f64::from(self.like_rate) * self.items as f64;
        ((REACHABLE * liked) as u64).max(1)
    }

    /// # Errors
    /// Names the first parameter that is out of range.
    pub(super) fn check(&self) -> Result<(), GenerateError> {
        self.check_counts()?;
        self.check_reals()?;
        let most = self.users as u64 * self.most_per_user();
        if self.entries > most {
            return Err(GenerateError::TooManyEntries {
                entries: self.entries,
                most,
                users: self.users as u64,
            });
        }
        Ok(())
    }

    fn check_counts(&self) -> Result<(), GenerateError> {
        const INDICES: u64 = u32::MAX as u64;
        let counts = [
            ("users", self.users as u64, INDICES),
            ("items", self.items as u64, INDICES),
            ("entries", self.entries, u64::MAX),
            ("rank", self.rank as u64, 1024),
            ("segments", self.segments as u64, 4096),
            ("categories", self.categories as u64, 4096),
        ];
        match counts.iter().find(|(_, got, most)| *got == 0 || got > most) {
            Some(&(name, got, most)) => Err(GenerateError::Count { name, got, most }),
            None => Ok(()),
        }
    }

    fn check_reals(&self) -> Result<(), GenerateError> {
        let strength = match self.exposure {
            ExposureModel::Segmented { strength } => strength,
            ExposureModel::Popularity | ExposureModel::Uniform => 0.0,
        };
        within(
            "popularity exponent",
            self.popularity_exponent,
            3.0,
            "0 to 3",
        )?;
        within("activity exponent", self.activity_exponent, 3.0, "0 to 3")?;
        within("exposure strength", strength, 5.0, "0 to 5")?;
        within("taste", self.taste, 100.0, "0 to 100")?;
        within("noise", self.noise, 1.0, "0 to 1")?;
        if self.like_rate > 0.0 && self.like_rate < 1.0 {
            return Ok(());
        }
        Err(GenerateError::Parameter {
            name: "like rate",
            got: self.like_rate,
            range: "above 0 and below 1",
        })
    }
}

fn within(
    name: &'static str,
    got: f32,
    most: f32,
    range: &'static str,
) -> Result<(), GenerateError> {
    // A NaN is in no range.
    if (0.0..=most).contains(&got) {
        return Ok(());
    }
    Err(GenerateError::Parameter { name, got, range })
}
