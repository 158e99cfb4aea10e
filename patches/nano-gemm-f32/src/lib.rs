//! Stands in for the kernels of numbers in single precision, which Absentia never calls.
#![no_std]

type Number = f32;

include!("../../kernels.rs");

#[cfg(target_arch = "x86_64")]
pub mod x86 {
    pub mod f32 {
        kernels!(f32x1, 1, 4, 1);
        kernels!(f32x2, 1, 4, 2);
        kernels!(f32x4, 1, 4, 4, core::arch::x86_64::__m128i);
        kernels!(avx, 2, 4, 8, core::arch::x86_64::__m256i);
        #[cfg(feature = "x86-v4")]
        kernels!(avx512, 2, 4, 16, u16);
    }
}

#[cfg(target_arch = "aarch64")]
pub mod aarch64 {
    pub mod f32 {
        kernels!(neon, 8, 4, 1);
    }
}
