//! Colours of values: perceptual maps, and the palette of lines.

use super::axis::share;
use clap::ValueEnum;
use colorous::Gradient;

/// Red, green and blue.
pub type Rgb = [u8; 3];

pub const WHITE: Rgb = [255, 255, 255];
pub const INK: Rgb = [38, 38, 38];
pub const GRID: Rgb = [214, 214, 214];
/// What a missing value has.
pub const MISSING: Rgb = [190, 190, 190];

/// Lines one after the other: the palette of Okabe and Ito, which people tell apart who do not see all colours.
pub const LINES: [Rgb; 7] = [[0, 114, 178], [213, 94, 0], [0, 158, 115], [204, 121, 167], [230, 159, 0], [86, 180, 233], [0, 0, 0]];

/// A map of colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ColourMap {
    /// Dark blue to yellow
    Viridis,
    /// The same for those who do not see red or green
    Cividis,
    /// Black to yellow by red
    Inferno,
    /// Black to white by magenta
    Magma,
    /// Blue to yellow by red
    Plasma,
    /// Blue to red by white, zero in the middle
    Rdbu,
    /// Blue to red by green
    Turbo,
    /// Black to white
    Greys,
}

impl ColourMap {
    /// The colour of a share of the range, 0 to 1.
    pub fn at(self, share: f64) -> Rgb {
        let (gradient, reversed): (Gradient, bool) = match self {
            ColourMap::Viridis => (colorous::VIRIDIS, false),
            ColourMap::Cividis => (colorous::CIVIDIS, false),
            ColourMap::Inferno => (colorous::INFERNO, false),
            ColourMap::Magma => (colorous::MAGMA, false),
            ColourMap::Plasma => (colorous::PLASMA, false),
            ColourMap::Rdbu => (colorous::RED_BLUE, true),
            ColourMap::Turbo => (colorous::TURBO, false),
            ColourMap::Greys => (colorous::GREYS, true),
        };
        let share = share.clamp(0.0, 1.0);
        let colour = gradient.eval_continuous(if reversed { 1.0 - share } else { share });
        [colour.r, colour.g, colour.b]
    }

    /// Whether its middle means zero.
    pub fn is_diverging(self) -> bool {
        self == ColourMap::Rdbu
    }
}

/// The colours of values: 256 of a map over a range.
pub struct Scale {
    table: Vec<Rgb>,
    pub low: f64,
    pub high: f64,
}

impl Scale {
    pub fn new(map: ColourMap, (low, high): (f64, f64)) -> Scale {
        Scale { table: (0..256).map(|i| map.at(f64::from(i) / 255.0)).collect(), low, high }
    }

    /// The colour of a value; of one that is missing a grey.
    pub fn colour(&self, value: f64) -> Rgb {
        if value.is_nan() {
            return MISSING;
        }
        let share = if self.high > self.low { share(value, self.low, self.high) } else { 0.5 };
        // A share beyond the ends is that of the end.
        self.table[((share * 255.0).round() as usize).min(255)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_colours_of_their_place_in_the_range() {
        let scale = Scale::new(ColourMap::Viridis, (10.0, 20.0));
        let near = |a: Rgb, b: Rgb| a.iter().zip(b).all(|(&a, b)| a.abs_diff(b) <= 2);
        for (value, colour) in
            [(10.0, [68, 1, 84]), (20.0, [253, 231, 37]), (15.0, [33, 144, 140]), (-1e30, [68, 1, 84]), (f64::INFINITY, [253, 231, 37])]
        {
            assert!(near(scale.colour(value), colour), "{value}: {:?}", scale.colour(value));
        }
        assert_eq!(scale.colour(f64::NAN), MISSING);
        let zero = Scale::new(ColourMap::Rdbu, (-1.0, 1.0));
        assert!(zero.colour(-1.0)[2] > zero.colour(-1.0)[0] && zero.colour(1.0)[0] > zero.colour(1.0)[2]);
        assert!(near(Scale::new(ColourMap::Viridis, (3.0, 3.0)).colour(3.0), [33, 144, 140]));
    }
}
