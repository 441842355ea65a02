//! What a time counts.

/// What a time counts: some number of a base unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Unit {
    /// The place of the base unit in [`Unit::NAMES`].
    base: u8,
    /// How many of it make one, at least 1.
    pub scale: u32,
}

impl Unit {
    /// The names of the base units, as NumPy writes them; `generic` counts nothing in particular.
    pub const NAMES: [&'static str; 14] = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as", "generic"];

    /// `scale` of the unit called `name` (`μs` is `us`); `None` if no unit has that name or the scale is not from 1 to 2^31-1.
    pub fn new(name: &str, scale: u64) -> Option<Unit> {
        let name = if name == "μs" || name == "µs" { "us" } else { name };
        let base = Unit::NAMES.iter().position(|n| *n == name)? as u8;
        let scale = u32::try_from(scale).ok().filter(|s| (1..=i32::MAX as u32).contains(s))?;
        Some(Unit { base, scale })
    }

    /// The name of the base unit.
    pub fn name(self) -> &'static str {
        Unit::NAMES[usize::from(self.base) % Unit::NAMES.len()]
    }
}
