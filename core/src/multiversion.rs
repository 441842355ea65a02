//! Loops compiled twice: for every processor, and for the wider vectors of those that have them.

/// Makes functions whose body is also compiled for AVX2, which is used where the processor has it (asked at each call, an atomic load).
/// What the body calls is compiled so only if it is inlined.
#[macro_export]
macro_rules! multiversion {
    ($($(#[$meta:meta])* $vis:vis fn $name:ident $(<$generic:ident: $bound:path>)? ($($arg:ident: $t:ty),* $(,)?) $(-> $result:ty)? $body:block)*) => { $(
        $(#[$meta])*
        $vis fn $name $(<$generic: $bound>)? ($($arg: $t),*) $(-> $result)? {
            #[inline(always)]
            fn plain $(<$generic: $bound>)? ($($arg: $t),*) $(-> $result)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2")]
            fn avx2 $(<$generic: $bound>)? ($($arg: $t),*) $(-> $result)? {
                plain $(::<$generic>)? ($($arg),*)
            }

            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx2") {
                // SAFETY: the processor has the instructions.
                return unsafe { avx2 $(::<$generic>)? ($($arg),*) };
            }
            plain $(::<$generic>)? ($($arg),*)
        }
    )* };
}

pub use crate::multiversion;
