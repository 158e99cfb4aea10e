// Included by crates that define `Number`.

use nano_gemm_core::{MicroKernel, MicroKernelData};

unsafe fn absent(_: &MicroKernelData<Number>, _: *mut Number, _: *const Number, _: *const Number) {
    panic!("matrix products of these numbers are left out: see [patch.crates-io] in Cargo.toml")
}

/// The kernels of one instruction set, in the shape that `nano-gemm` expects.
macro_rules! kernels {
    ($name:ident, $rows:literal, $columns:literal, $lanes:literal $(, $mask:ty)?) => {
        pub mod $name {
            pub const MR_DIV_N: usize = $rows;
            pub const NR: usize = $columns;
            pub const N: usize = $lanes;
            pub static MICROKERNELS: [[[crate::MicroKernel<crate::Number>; NR]; MR_DIV_N]; 17] =
                [[[crate::absent; NR]; MR_DIV_N]; 17];
            $(pub static MASKS: [$mask; N] = unsafe { core::mem::zeroed() };)?
        }
    };
}
