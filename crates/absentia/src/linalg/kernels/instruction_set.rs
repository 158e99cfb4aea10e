//! Which vectors a machine has.

use super::Kernels;

/// An instruction set with kernels of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
        let mut sets = vec![Self::Scalar];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                sets.push(Self::Avx2);
            }
            let wide = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl");
            if wide && sets.contains(&Self::Avx2) {
                sets.push(Self::Avx512);
            }
        }
        #[cfg(target_arch = "aarch64")]
        sets.push(Self::Neon);
        sets
    }

    /// The set whose kernels run on this machine.
    #[must_use]
    pub fn best() -> Self {
        Kernels::best().set
    }
}

impl std::fmt::Display for InstructionSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Scalar => "scalar",
            Self::Avx2 => "AVX2",
            Self::Avx512 => "AVX-512",
            Self::Neon => "NEON",
        })
    }
}
