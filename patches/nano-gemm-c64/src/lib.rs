//! Stands in for the kernels of complex numbers, which Absentia never calls.
#![no_std]

type Number = num_complex::Complex64;

include!("../../kernels.rs");

#[cfg(target_arch = "x86_64")]
pub mod x86 {
    pub mod c64 {
        kernels!(c64x1, 1, 2, 1);
        kernels!(avx, 2, 2, 2, core::arch::x86_64::__m256i);
        #[cfg(feature = "x86-v4")]
        kernels!(avx512, 2, 2, 4, u8);
    }
}

#[cfg(target_arch = "aarch64")]
pub mod aarch64 {
    pub mod c64 {
        kernels!(neon, 2, 4, 1);
    }
}
