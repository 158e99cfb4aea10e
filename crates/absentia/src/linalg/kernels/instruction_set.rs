//! Which instruction sets have kernels of their own, and which set is in use.

use std::ffi::OsString;
use std::sync::OnceLock;

use super::Kernels;
use crate::error::Fault;

/// The environment variable that names the set to use.
const SET_VARIABLE: &str = "ABSENTIA_SIMD";

/// The environment variable that says whether `eals` takes its lane-parallel path.
const PATH_VARIABLE: &str = "ABSENTIA_LANE_PARALLEL";

/// An instruction set with kernels of its own.
///
/// Results on two sets differ in the last bits; nothing else of the machine changes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InstructionSet {
    /// Plain Rust, on every machine.
    Scalar,
    /// 256-bit vectors with fused multiply-add (`x86-64`).
    Avx2,
    /// 512-bit vectors (`x86-64`).
    Avx512,
    /// 128-bit vectors (`aarch64`).
    Neon,
}

impl InstructionSet {
    /// Every set this machine can run, slowest first.
    #[must_use]
    pub fn available() -> Vec<Self> {
        let all = [Self::Scalar, Self::Neon, Self::Avx2, Self::Avx512];
        all.into_iter().filter(|set| set.is_available()).collect()
    }

    /// Whether this machine can run the set.
    fn is_available(self) -> bool {
        match self {
            Self::Scalar => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                Self::Avx2.is_available()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
            }
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx2 | Self::Avx512 => false,
            Self::Neon => cfg!(target_arch = "aarch64"),
        }
    }

    /// The set whose kernels run in this process: the one that `ABSENTIA_SIMD` names if the machine
    /// has it, otherwise the fastest one.
    #[must_use]
    pub fn in_use() -> Self {
        Kernels::in_use().set.get()
    }

    /// Selects the kernels that the environment names and yields their set.
    ///
    /// `ABSENTIA_SIMD` is `scalar`, `avx2`, `avx512` or `neon`; without it, the fastest set is used.
    /// `ABSENTIA_LANE_PARALLEL` is `on` or `off`; without it, `eals` solves one row per lane only
    /// where that is faster (`avx512`). The choice is made once per process, at the first use of a
    /// kernel or here. A program calls this first, to refuse a wrong value that would otherwise be
    /// ignored.
    ///
    /// # Errors
    /// If a variable has a value that is unknown, or names a set that the machine does not have.
    pub fn select_from_env() -> Result<Self, InstructionSetError> {
        let kernels = Kernels::from_env()?;
        Ok(IN_USE.get_or_init(|| kernels).set.get())
    }
}

impl std::fmt::Display for InstructionSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Scalar => "scalar",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
            Self::Neon => "neon",
        })
    }
}

/// A set that was detected on this machine. Detection is the only way to make one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Detected(InstructionSet);

impl Detected {
    /// The set, if the machine has it.
    pub(super) fn new(set: InstructionSet) -> Option<Self> {
        set.is_available().then_some(Self(set))
    }

    /// The fastest set of the machine.
    fn fastest() -> Self {
        let available = InstructionSet::available();
        // Every machine has this one.
        let scalar = Self(InstructionSet::Scalar);
        available.last().map_or(scalar, |&set| Self(set))
    }

    /// Which set it is.
    pub(super) fn get(self) -> InstructionSet {
        self.0
    }
}

/// Why kernels could not be selected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InstructionSetError {
    /// The set is unknown, or the machine does not have it.
    #[error("ABSENTIA_SIMD is {got:?}; this machine has {}", listed(available))]
    NotAvailable {
        /// The value of the variable.
        got: OsString,
        /// The sets that can be named.
        available: Vec<InstructionSet>,
    },
    /// The lane-parallel path is neither on nor off.
    #[error("ABSENTIA_LANE_PARALLEL is {got:?}; it must be on or off")]
    NotASwitch {
        /// The value of the variable.
        got: OsString,
    },
}

impl InstructionSetError {
    /// Whose fault this is.
    #[must_use]
    pub fn fault(&self) -> Fault {
        Fault::Caller
    }
}

fn listed(sets: &[InstructionSet]) -> String {
    let names: Vec<String> = sets.iter().map(ToString::to_string).collect();
    names.join(", ")
}

/// The kernels of this process.
static IN_USE: OnceLock<Kernels> = OnceLock::new();

impl Kernels {
    /// The kernels of this process: those that the environment names, otherwise the fastest.
    pub(crate) fn in_use() -> Self {
        *IN_USE.get_or_init(|| Self::from_env().unwrap_or_else(|_| Self::new(Detected::fastest())))
    }

    fn from_env() -> Result<Self, InstructionSetError> {
        // A variable without a value counts as one that is not set.
        let value = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        Self::named(value(SET_VARIABLE), value(PATH_VARIABLE))
    }

    /// The kernels that the values of both variables name.
    fn named(
        set: Option<OsString>,
        lane_parallel: Option<OsString>,
    ) -> Result<Self, InstructionSetError> {
        let available = InstructionSet::available();
        let set = match set {
            None => Detected::fastest(),
            Some(got) => {
                let named = available.iter().find(|set| *got == *set.to_string());
                match named.copied().and_then(Detected::new) {
                    Some(set) => set,
                    None => return Err(InstructionSetError::NotAvailable { got, available }),
                }
            }
        };
        let kernels = Self::new(set);
        match lane_parallel {
            None => Ok(kernels),
            Some(switch) if switch == "on" => Ok(kernels.with_lane_parallel(true)),
            Some(switch) if switch == "off" => Ok(kernels.with_lane_parallel(false)),
            Some(got) => Err(InstructionSetError::NotASwitch { got }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(set: &str, lane_parallel: &str) -> Result<Kernels, InstructionSetError> {
        let value = |text: &str| (!text.is_empty()).then(|| OsString::from(text));
        Kernels::named(value(set), value(lane_parallel))
    }

    #[test]
    fn every_available_set_can_be_named_and_only_those() {
        let available = InstructionSet::available();
        for &set in &available {
            assert_eq!(named(&set.to_string(), "").unwrap().set.get(), set);
        }
        assert_eq!(Some(&named("", "").unwrap().set.get()), available.last());
        let error = named("mmx", "").unwrap_err();
        let message = format!(
            "ABSENTIA_SIMD is \"mmx\"; this machine has {}",
            listed(&available)
        );
        assert_eq!(error.to_string(), message);
    }

    #[test]
    fn the_lane_parallel_path_can_be_switched() {
        assert!(named("scalar", "on").unwrap().uses_lane_parallel());
        assert!(!named("scalar", "off").unwrap().uses_lane_parallel());
        assert!(!named("scalar", "").unwrap().uses_lane_parallel());
        let error = named("scalar", "yes").unwrap_err();
        assert!(error.to_string().contains("on or off"), "{error}");
    }
}
