//! What trains a model.

use std::fmt;
use std::str::FromStr;

use absentia::error::TextError;

/// Hardware that trains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Device {
    /// The processor, with the instructions that [`InstructionSet`](absentia::InstructionSet) chose.
    #[default]
    Cpu,
}

impl FromStr for Device {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        match text {
            "cpu" => Ok(Self::Cpu),
            _ => Err(TextError::new(text, "cpu, the only device so far")),
        }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.write_str("cpu"),
        }
    }
}
