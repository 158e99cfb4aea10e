//! The memory of a command, stage by stage.
//!
//! A command reads, prepares, trains, ranks and writes, one after the other. What it takes at its peak is the
//! largest of these stages, not their sum; what stays in memory from one stage to the next is a part of both.

/// What is in memory at the same time, part by part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// What the command does, as in "reading".
    pub name: &'static str,
    /// What takes memory, and its bytes.
    pub parts: Vec<(&'static str, u64)>,
}

impl Stage {
    /// Yields a stage that takes nothing yet.
    #[must_use]
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            parts: Vec::new(),
        }
    }

    /// Adds a part; one that takes nothing is left out.
    #[must_use]
    pub fn with(mut self, part: &'static str, bytes: u64) -> Self {
        if bytes > 0 {
            self.parts.push((part, bytes));
        }
        self
    }

    /// Adds the parts of another stage.
    #[must_use]
    pub fn with_all(mut self, parts: impl IntoIterator<Item = (&'static str, u64)>) -> Self {
        for (part, bytes) in parts {
            self = self.with(part, bytes);
        }
        self
    }

    /// Total number of bytes.
    #[must_use]
    pub fn total(&self) -> u64 {
        let parts = self.parts.iter().map(|(_, bytes)| *bytes);
        parts.fold(0, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up() {
        let rest = [("ids", 4), ("nothing", 0)];
        let stage = Stage::new("reading").with("rows", 8).with_all(rest);
        assert_eq!(stage.parts, [("rows", 8), ("ids", 4)]);
        assert_eq!(stage.total(), 12);
        assert_eq!(stage.with("too much", u64::MAX).total(), u64::MAX);
    }
}
