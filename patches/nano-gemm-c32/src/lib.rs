//! Stands in for the kernels of complex numbers in single precision, which Absentia never calls.
#![no_std]

type Number = num_complex::Complex32;

include!("../../kernels.rs");

#[cfg(target_arch = "x86_64")]
pub mod x86 {
    pub mod c32 {
        kernels!(c32x1, 1, 2, 1);
        kernels!(c32x2, 1, 2, 2);
        kernels!(avx, 2, 2, 4, core::arch::x86_64::__m256i);
        #[cfg(feature = "x86-v4")]
        kernels!(avx512, 2, 2, 8, u16);
    }
}

#[cfg(target_arch = "aarch64")]
pub mod aarch64 {
    pub mod c32 {
        kernels!(neon, 4, 4, 1);
    }
}
