//! Floating-point formats of 4 to 16 bits: their numbers as binary32, and binary32 rounded to them, to nearest even, once.
//! Specification: zarr-extensions, the data types `bfloat16`, `float8_*`, `float6_*`, `float4_*`.
//!
//! Numbers of 8 bits and less are looked up in tables; the way back has no branches, so that loops of it vectorise. What is rounded
//! has binary32's 24 bits: wider numbers come through `odd`, which keeps apart what a second rounding would confuse.

/// What the largest codes of a format stand for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Special {
    /// Infinities and NaN as in IEEE 754.
    Ieee,
    /// No infinities; all bits set is NaN.
    Fn,
    /// No infinities, no negative zero; the sign alone is NaN.
    Fnuz,
    /// Numbers only.
    Finite,
    /// An exponent only, without sign and zero; all bits set is NaN.
    Scale,
}

/// How the bits of a format are used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct BitFormat {
    exponent: u32,
    mantissa: u32,
    bias: u32,
    special: Special,
}

/// Declares the formats and all that is known of each: its name, the bits of its exponent and mantissa, its bias, and what its largest
/// codes stand for. `$d` is a dollar for the macro inside.
macro_rules! formats {
    ($d:tt $( $(#[$doc:meta])* $name:ident $text:literal ($exponent:literal, $mantissa:literal, $bias:literal, $special:ident) )*) => {
        /// The floating-point formats narrower than binary32; the names are those of the registry of extensions. `Float16` is
        /// only in [`DataType::ComplexNarrow`](super::DataType::ComplexNarrow).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        pub enum Narrow {
            $( $(#[$doc])* $name, )*
        }

        impl Narrow {
            /// Every format.
            pub const ALL: &'static [Narrow] = &[$( Narrow::$name, )*];

            /// The name of the real type, and of the complex one.
            pub fn names(self) -> (&'static str, &'static str) {
                match self {
                    $( Narrow::$name => ($text, concat!("complex_", $text)), )*
                }
            }

            const fn format(self) -> BitFormat {
                match self {
                    $( Narrow::$name => BitFormat { exponent: $exponent, mantissa: $mantissa, bias: $bias, special: Special::$special }, )*
                }
            }
        }

        /// Runs `$body` with `$format` being the constant of a format, so that its loops are made for each of them.
        macro_rules! with_format {
            ($d narrow:expr, $d format:ident, $d body:expr) => {
                match $d narrow {
                    $( Narrow::$name => {
                        const $d format: BitFormat = Narrow::$name.format();
                        $d body
                    } )*
                }
            };
        }
    };
}

formats! { $
    Float16 "float16" (5, 10, 15, Ieee)
    BFloat16 "bfloat16" (8, 7, 127, Ieee)
    Float8E3M4 "float8_e3m4" (3, 4, 3, Ieee)
    Float8E4M3 "float8_e4m3" (4, 3, 7, Ieee)
    Float8E4M3B11Fnuz "float8_e4m3b11fnuz" (4, 3, 11, Fnuz)
    Float8E4M3Fnuz "float8_e4m3fnuz" (4, 3, 8, Fnuz)
    /// TensorStore's; not in the registry, and not `float8_e4m3`.
    Float8E4M3Fn "float8_e4m3fn" (4, 3, 7, Fn)
    Float8E5M2 "float8_e5m2" (5, 2, 15, Ieee)
    Float8E5M2Fnuz "float8_e5m2fnuz" (5, 2, 16, Fnuz)
    Float8E8M0Fnu "float8_e8m0fnu" (8, 0, 127, Scale)
    Float6E2M3Fn "float6_e2m3fn" (2, 3, 1, Finite)
    Float6E3M2Fn "float6_e3m2fn" (3, 2, 3, Finite)
    Float4E2M1Fn "float4_e2m1fn" (2, 1, 1, Finite)
}

impl Narrow {
    /// Bytes of one number.
    pub fn size(self) -> usize {
        if self.bits() > 8 { 2 } else { 1 }
    }

    /// The bits that count; they are the low ones.
    pub const fn bits(self) -> u32 {
        self.format().bits()
    }

    /// The bits of the mantissa.
    pub const fn mantissa(self) -> u32 {
        self.format().mantissa
    }

    /// Whether there are infinities; where there are, NaN is as in IEEE 754, too.
    pub const fn has_infinity(self) -> bool {
        matches!(self.format().special, Special::Ieee)
    }

    /// The code of the NaN that "NaN" means in metadata, where the format has one.
    pub const fn nan(self) -> Option<u16> {
        let f = self.format();
        match f.special {
            Special::Finite => None,
            Special::Ieee => Some((f.infinity() | 1 << (f.mantissa - 1)) as u16),
            _ => Some(f.overflow() as u16),
        }
    }

    /// The code of the largest number.
    pub const fn largest(self) -> u16 {
        self.format().max() as u16
    }

    /// The bit of the sign, 0 for a format without one.
    pub const fn sign(self) -> u16 {
        match self.format().special {
            Special::Scale => 0,
            _ => 1 << (self.bits() - 1),
        }
    }

    /// The code of minus zero, where the format has one.
    pub const fn minus_zero(self) -> Option<u16> {
        match self.format().special {
            Special::Fnuz | Special::Scale => None,
            _ => Some(self.sign()),
        }
    }

    /// The number of a code; bits above those that count are ignored.
    pub fn to_f32(self, code: u16) -> f32 {
        self.format().decode(code as u32)
    }

    /// The code of the nearest number, ties to even, and whether the value does not fit: a finite one beyond the largest, or
    /// NaN, an infinity, a zero or a negative one where the format has no such value. The code is then that of the infinity, in a format
    /// without infinities that of NaN, in a format without both that of the largest number (0 for NaN).
    pub fn of_f32(self, value: f32) -> (u16, bool) {
        let (code, unfit) = self.format().encode(value);
        (code as u16, unfit)
    }
}

impl BitFormat {
    const fn bits(self) -> u32 {
        self.exponent + self.mantissa + if matches!(self.special, Special::Scale) { 0 } else { 1 }
    }

    /// The code behind all exponents of numbers.
    const fn infinity(self) -> u32 {
        ((1 << self.exponent) - 1) << self.mantissa
    }

    /// The largest number.
    const fn max(self) -> u32 {
        let all = (1 << (self.exponent + self.mantissa)) - 1;
        match self.special {
            Special::Ieee => self.infinity() - 1,
            Special::Fn | Special::Scale => all - 1,
            Special::Fnuz | Special::Finite => all,
        }
    }

    /// What a magnitude beyond the largest number becomes.
    const fn overflow(self) -> u32 {
        match self.special {
            Special::Ieee => self.infinity(),
            Special::Fn | Special::Scale => self.max() + 1,
            Special::Fnuz => 1 << (self.exponent + self.mantissa),
            Special::Finite => self.max(),
        }
    }

    const fn decode(self, code: u32) -> f32 {
        let (e, m) = (self.exponent, self.mantissa);
        let code = code & ((1 << self.bits()) - 1);
        if matches!(self.special, Special::Scale) {
            let bits = match code {
                0 => 0x40_0000,
                0xff => 0x7fc0_0000,
                _ => code << 23,
            };
            return f32::from_bits(bits);
        }
        let (sign, magnitude) = (code >> (e + m) << 31, code & ((1 << (e + m)) - 1));
        let mantissa = magnitude & ((1 << m) - 1);
        let bits = if matches!(self.special, Special::Fnuz) && code == self.overflow() {
            0x7fc0_0000
        } else if matches!(self.special, Special::Fn) && magnitude > self.max() {
            sign | 0x7fc0_0000
        } else if matches!(self.special, Special::Ieee) && magnitude >= self.infinity() {
            let quiet = if mantissa == 0 { 0 } else { 0x40_0000 };
            sign | 0x7f80_0000 | quiet | mantissa << (23 - m)
        } else if magnitude >> m == 0 && self.bias < 127 && mantissa != 0 {
            // The highest bit of the mantissa becomes the one before the point.
            let place = 31 - mantissa.leading_zeros();
            sign | (place + 128 - self.bias - m) << 23 | (mantissa << (23 - place) & 0x7f_ffff)
        } else if magnitude == 0 {
            sign
        } else {
            sign | (magnitude + ((127 - self.bias) << m)) << (23 - m)
        };
        f32::from_bits(bits)
    }

    /// See [`Narrow::of_f32`].
    #[inline(always)]
    fn encode(self, value: f32) -> (u32, bool) {
        let (e, m) = (self.exponent, self.mantissa);
        let bits = value.to_bits();
        let magnitude = bits & 0x7fff_ffff;
        let nan = magnitude > 0x7f80_0000;
        if self.special == Special::Scale {
            // With one bit before the point and none behind it, the even one of two neighbours is the larger.
            let code = if magnitude < 0x80_0000 { u32::from(magnitude >= 0x60_0000) } else { (magnitude + 0x40_0000) >> 23 };
            let unfit = !nan & ((code > self.max()) | (bits >> 31 == 1) | (magnitude == 0));
            return (if nan | unfit { self.overflow() } else { code }, unfit);
        }
        let drop = 23 - m;
        let rounded = (magnitude + ((1 << (drop - 1)) - 1) + (magnitude >> drop & 1)) >> drop;
        let normal = rounded.wrapping_sub((127 - self.bias) << m);
        // Below the least normal number the addition rounds: its last bit is that of the format.
        let (least, last) = ((128 - self.bias) << 23, f32::from_bits((151 - self.bias - m) << 23));
        let small = (f32::from_bits(magnitude) + last).to_bits().wrapping_sub(last.to_bits());
        let code = if (self.bias < 127) & (magnitude < least) { small } else { normal };
        let over = code > self.max();
        let sign = bits >> 31 << (e + m);
        match self.special {
            Special::Ieee => {
                let payload = self.infinity() | 1 << (m - 1) | (magnitude >> drop & ((1 << m) - 1));
                let code = if nan { payload } else { code.min(self.infinity()) };
                (sign | code, over & (magnitude < 0x7f80_0000))
            }
            Special::Fnuz => {
                let signed = if code == 0 { 0 } else { sign | code };
                (if over { self.overflow() } else { signed }, over & !nan)
            }
            Special::Finite => (sign | if nan { 0 } else { code.min(self.max()) }, over),
            _ => (sign | code.min(self.overflow()), over & !nan),
        }
    }
}

/// Cuts a number to binary32 and makes it odd if anything was cut off, so that rounding the result to a narrower format gives what
/// rounding `value` itself does. Finite numbers beyond binary32 become infinite.
#[inline(always)]
pub(crate) fn odd(value: f64) -> f32 {
    // In units of the last bit of small binary32 numbers: the sum's low bits are the nearest integer.
    const INTEGERS: f64 = (1u64 << 52) as f64;
    let least = f64::from_bits((1023 - 126) << 52);
    let units = value.abs().min(least) * f64::from_bits((1023 + 149) << 52);
    let sum = units + INTEGERS;
    let near = sum - INTEGERS;
    let cut = (sum.to_bits() as u32 & 0xff_ffff).wrapping_sub(u32::from(near > units)) | u32::from(near != units);
    let small = f32::from_bits(cut | (value.to_bits() >> 32) as u32 & 0x8000_0000);
    if value.abs() < least { small } else { odd_normal(value) }
}

/// [`odd`] for rounding to binary16, in which numbers outside of binary32's normal range are 0 or infinite either way: the bits beyond
/// binary32 are gathered into its last one.
#[inline(always)]
pub(crate) fn odd_normal(value: f64) -> f32 {
    const BEYOND: u64 = (1 << 29) - 1;
    let bits = value.to_bits();
    f64::from_bits((bits & !BEYOND) | (u64::from(bits & BEYOND != 0) << 29)) as f32
}

/// Makes a binary64 of an integer: exact, or odd where digits were cut off.
#[inline(always)]
pub(crate) fn odd_integer(value: i64) -> f64 {
    const BEYOND: i64 = (1 << 11) - 1;
    let odd = (value & !BEYOND) | (i64::from(value & BEYOND != 0) << 11);
    (if value.unsigned_abs() >> 53 == 0 { value } else { odd }) as f64
}

/// Makes a binary64 of an integer without a sign, as [`odd_integer`] does.
#[inline(always)]
pub(crate) fn odd_unsigned(value: u64) -> f64 {
    const BEYOND: u64 = (1 << 11) - 1;
    let odd = (value & !BEYOND) | (u64::from(value & BEYOND != 0) << 11);
    (if value >> 53 == 0 { value } else { odd }) as f64
}

/// Runs `$body`, an inlined call, with AVX2 where the processor has it.
macro_rules! with_avx2 {
    ($n:expr, $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?) => {{
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx2")]
            unsafe fn fast($($argument: $type),*) $(-> $result)? {
                // SAFETY: as for the caller.
                unsafe { $name($($argument),*) }
            }
            if $n > 32 && std::arch::is_x86_feature_detected!("avx2") {
                // SAFETY: as for the caller; the processor has the instructions.
                return unsafe { fast($($argument),*) };
            }
        }
        // SAFETY: as for the caller.
        unsafe { $name($($argument),*) }
    }};
}

/// n numbers of a format to binary32.
///
/// # Safety
/// n elements at `src` are initialised and there is room for as many at `dst`, elsewhere. Neither needs to be aligned.
pub(super) unsafe fn decode(narrow: Narrow, src: *const u8, dst: *mut u8, n: usize) {
    with_avx2!(n, decode_any(narrow: Narrow, src: *const u8, dst: *mut u8, n: usize))
}

/// # Safety
/// As for [`decode`].
#[inline(always)]
unsafe fn decode_any(narrow: Narrow, src: *const u8, dst: *mut u8, n: usize) {
    let dst = dst.cast::<f32>();
    if narrow == Narrow::BFloat16 {
        for i in 0..n {
            // SAFETY: i < n.
            unsafe { dst.add(i).write_unaligned(f32::from_bits(u32::from(src.cast::<u16>().add(i).read_unaligned()) << 16)) };
        }
        return;
    }
    if narrow == Narrow::Float16 {
        for i in 0..n {
            // SAFETY: i < n.
            unsafe { dst.add(i).write_unaligned(half::f16::from_bits(src.cast::<u16>().add(i).read_unaligned()).to_f32()) };
        }
        return;
    }
    let table: &[f32; 256] = with_format!(narrow, FORMAT, {
        static TABLE: [f32; 256] = table(FORMAT);
        &TABLE
    });
    for i in 0..n {
        // SAFETY: i < n.
        unsafe { dst.add(i).write_unaligned(table[usize::from(*src.add(i))]) };
    }
}

const fn table(format: BitFormat) -> [f32; 256] {
    let mut all = [0.0; 256];
    let mut code = 0;
    while code < 256 {
        all[code] = format.decode(code as u32);
        code += 1;
    }
    all
}

/// n binary32 to a format; true if one of them does not fit (see [`Narrow::of_f32`]).
///
/// # Safety
/// n elements at `src` are initialised and there is room for as many at `dst`, elsewhere. Neither needs to be aligned.
pub(super) unsafe fn encode(narrow: Narrow, src: *const u8, dst: *mut u8, n: usize) -> bool {
    with_avx2!(n, encode_any(narrow: Narrow, src: *const u8, dst: *mut u8, n: usize) -> bool)
}

/// # Safety
/// As for [`encode`].
#[inline(always)]
unsafe fn encode_any(narrow: Narrow, src: *const u8, dst: *mut u8, n: usize) -> bool {
    let mut bad = false;
    with_format!(narrow, FORMAT, {
        for i in 0..n {
            // SAFETY: i < n.
            let (code, unfit) = FORMAT.encode(unsafe { src.cast::<f32>().add(i).read_unaligned() });
            bad |= unfit;
            if FORMAT.bits() > 8 {
                // SAFETY: i < n.
                unsafe { dst.cast::<u16>().add(i).write_unaligned(code as u16) };
            } else {
                // SAFETY: i < n.
                unsafe { *dst.add(i) = code as u8 };
            }
        }
    });
    bad
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::suite::Random;

    /// The value of a code, calculated as the registry describes it.
    fn value(narrow: Narrow, code: u16) -> f64 {
        let f = narrow.format();
        let (e, m) = (f.exponent, f.mantissa);
        if f.special == Special::Scale {
            return if code == 255 { f64::NAN } else { 2f64.powi(i32::from(code) - 127) };
        }
        let sign = if code >> (e + m) & 1 == 1 { -1.0 } else { 1.0 };
        let (exponent, mantissa) = (i32::from(code >> m & ((1 << e) - 1)), f64::from(code & ((1 << m) - 1)));
        let top = exponent == (1 << e) - 1;
        match f.special {
            Special::Ieee if top => return if mantissa == 0.0 { sign * f64::INFINITY } else { f64::NAN },
            Special::Fn if top && mantissa + 1.0 == f64::from(1 << m) => return f64::NAN,
            Special::Fnuz if code == 1 << (e + m) => return f64::NAN,
            _ => {}
        }
        let unit = 2f64.powi(exponent.max(1) - f.bias as i32 - m as i32);
        sign * unit * (mantissa + if exponent == 0 { 0.0 } else { f64::from(1 << m) })
    }

    fn codes(narrow: Narrow) -> impl Iterator<Item = u16> {
        0..=((1u32 << narrow.bits()) - 1) as u16
    }

    #[test]
    fn every_code_has_the_value_of_its_description_and_comes_back() {
        for &narrow in Narrow::ALL {
            for code in codes(narrow) {
                let (got, want) = (f64::from(narrow.to_f32(code)), value(narrow, code));
                assert!(got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(), "{narrow:?} {code:#x}: {got}, expected {want}");
                let (back, unfit) = narrow.of_f32(narrow.to_f32(code));
                if want.is_nan() {
                    assert!(!unfit && value(narrow, back).is_nan(), "{narrow:?} {code:#x}");
                } else {
                    assert_eq!((back, unfit), (code, false), "{narrow:?}");
                }
            }
        }
    }

    #[test]
    fn upper_bits_are_ignored() {
        for narrow in [Narrow::Float6E2M3Fn, Narrow::Float6E3M2Fn, Narrow::Float4E2M1Fn] {
            let mut out = [0f32; 256];
            let all: Vec<u8> = (0..=255).collect();
            // SAFETY: 256 elements on both sides.
            unsafe { decode(narrow, all.as_ptr(), out.as_mut_ptr().cast(), 256) };
            for (code, got) in out.iter().enumerate() {
                assert_eq!(got.to_bits(), narrow.to_f32(code as u16 & ((1 << narrow.bits()) - 1)).to_bits());
            }
        }
    }

    /// Ties and their neighbours in binary64, between every two neighbouring numbers, and beyond the largest.
    #[test]
    fn binary64_is_rounded_once_to_nearest_even() {
        for &narrow in Narrow::ALL {
            for code in 0..narrow.largest() {
                let (low, high) = (value(narrow, code), value(narrow, code + 1));
                let tie = (low + high) / 2.0;
                let even = if narrow == Narrow::Float8E8M0Fnu { code + 1 } else { code + (code & 1) };
                for (x, want) in
                    [(tie.next_down(), code), (tie, even), (tie.next_up(), code + 1), (low.next_up(), code), (high.next_down(), code + 1)]
                {
                    assert_eq!(narrow.of_f32(odd(x)), (want, false), "{narrow:?} {x:e}");
                    let zero = want == 0 && narrow.format().special == Special::Fnuz;
                    if narrow.sign() != 0 {
                        let negative = if zero { 0 } else { want | narrow.sign() };
                        assert_eq!(narrow.of_f32(odd(-x)), (negative, false), "{narrow:?} {x:e}");
                    }
                }
            }
            let (below, top) = (value(narrow, narrow.largest() - 1), value(narrow, narrow.largest()));
            let tie = if narrow == Narrow::Float8E8M0Fnu { top * 1.5 } else { top + (top - below) / 2.0 };
            let even = narrow.largest() & 1 == 0 && narrow != Narrow::Float8E8M0Fnu;
            assert_eq!(narrow.of_f32(odd(tie.next_down())), (narrow.largest(), false), "{narrow:?}");
            assert_eq!(narrow.of_f32(odd(tie)).1, !even, "{narrow:?}");
            assert!(narrow.of_f32(odd(tie.next_up())).1, "{narrow:?}");
            assert!(narrow.of_f32(odd(1e300)).0 == narrow.of_f32(f32::INFINITY).0, "{narrow:?}");
        }
    }

    #[test]
    fn what_a_format_does_not_have_does_not_fit() {
        for &narrow in Narrow::ALL {
            let f = narrow.format();
            assert_eq!(narrow.of_f32(f32::INFINITY).1, f.special != Special::Ieee, "{narrow:?}");
            assert_eq!(narrow.of_f32(f32::NAN), (narrow.nan().unwrap_or(0), narrow.nan().is_none()), "{narrow:?}");
            assert_eq!(narrow.of_f32(0.0), if f.special == Special::Scale { (255, true) } else { (0, false) });
            assert_eq!(narrow.of_f32(-1.0).1, f.special == Special::Scale);
        }
        assert_eq!(Narrow::Float8E4M3Fnuz.of_f32(-0.0), (0, false));
        assert_eq!(Narrow::Float8E5M2.of_f32(-0.0), (0x80, false));
        assert_eq!(Narrow::Float6E2M3Fn.of_f32(f32::NEG_INFINITY), (0x3f, true));
        for (narrow, nan) in
            [(Narrow::Float8E3M4, 0x78), (Narrow::Float8E4M3, 0x7c), (Narrow::Float8E5M2, 0x7e), (Narrow::BFloat16, 0x7fc0)]
        {
            assert_eq!(narrow.nan(), Some(nan));
        }
        assert_eq!(Narrow::BFloat16.of_f32(f32::from_bits(0xff81_0000)), (0xffc1, false));
    }

    #[test]
    fn loops_do_as_single_numbers_do() {
        let mut random = Random(1);
        let values: Vec<f32> = (0..4000).map(|_| f32::from_bits(random.number() as u32)).collect();
        for &narrow in Narrow::ALL {
            for n in [1, 31, 33, 4000] {
                let mut out = vec![0u8; n * narrow.size()];
                // SAFETY: n elements on both sides.
                let bad = unsafe { encode(narrow, values.as_ptr().cast(), out.as_mut_ptr(), n) };
                assert_eq!(bad, values[..n].iter().any(|v| narrow.of_f32(*v).1), "{narrow:?}");
                for (v, code) in values.iter().zip(out.chunks_exact(narrow.size())) {
                    let code = if narrow.size() == 1 { code[0].into() } else { u16::from_le_bytes([code[0], code[1]]) };
                    assert_eq!(code, narrow.of_f32(*v).0, "{narrow:?} {v:e}");
                }
            }
        }
    }

    #[test]
    fn odd_numbers_lie_on_the_right_side() {
        for x in [5e-324, 1e-320, 1e-46, 1.4e-45, 2e-45, 1.1754943508222875e-38, 1.17549435e-38, 1.0 + 1e-12, 3.4028235677973366e38, 1e39] {
            for x in [x, -x] {
                let (o, n) = (odd(x), f64::from(odd(x)));
                assert!(n == x || o.to_bits() & 1 == 1 || o.is_infinite(), "{x:e}");
                assert!(n.is_infinite() || (n - x).abs() <= f64::from(o.abs().next_up()) - f64::from(o.abs()), "{x:e} {n:e}");
                assert_eq!(o.is_sign_negative(), x.is_sign_negative());
            }
        }
        assert!(odd(f64::NAN).is_nan() && odd(f64::from_bits(0x7ff0_0000_0000_0001)).is_nan());
        for v in [i64::MAX, i64::MIN, i64::MIN + 1, -(1 << 53) - 1, (1 << 53) + 1, 5, -5] {
            let f = odd_integer(v);
            assert!(f as i128 == i128::from(v) || (f as i128) >> 11 & 1 == 1, "{v}");
        }
        assert_eq!((odd_unsigned(u64::MAX) as u64) >> 11 & 1, 1);
    }
}
