//! The coarser levels of an image of OME-Zarr, so that a picture of all of it does not read the finest one.

use ozarr::node::{Array, Group, Store};

/// A level: its array, and how many elements of the finest one an element stands for along each dimension.
pub struct Level {
    pub array: Array,
    pub ratios: Vec<u64>,
}

/// The coarser levels of an array that is the finest of an image, the coarsest last; none of any other array.
pub fn coarser(store: &Store, array: &Array) -> Vec<Level> {
    let path = array.path().trim_matches('/');
    let shape = array.shape();
    // The group of the image is one of those around the array.
    for at in path.rmatch_indices('/').map(|(at, _)| at).chain([0]) {
        let (above, below) = (&path[..at], path[at..].trim_start_matches('/'));
        let Ok(images) = Group::open(store, above).and_then(|group| group.multiscales()) else { continue };
        for image in images {
            let Some((first, rest)) = image.levels.split_first().filter(|(first, _)| first.path.trim_matches('/') == below) else {
                continue;
            };
            let level = |level: &ozarr::node::ImageLevel| {
                let array = Array::open(store, &format!("{above}/{}", level.path)).ok()?;
                let ratios = ratios(&shape, &array.shape(), &first.scale, &level.scale)?;
                Some(Level { array, ratios })
            };
            return rest.iter().map_while(level).collect();
        }
    }
    Vec::new()
}

/// How many elements of one shape an element of another stands for; `None` where it is no whole number along each dimension.
fn ratios(fine: &[u64], coarse: &[u64], fine_scale: &[f64], coarse_scale: &[f64]) -> Option<Vec<u64>> {
    if coarse.len() != fine.len() || fine_scale.len() != fine.len() || coarse_scale.len() != fine.len() {
        return None;
    }
    let one = |d: usize| {
        let ratio = coarse_scale[d] / fine_scale[d];
        let whole = ratio.round().max(1.0) as u64;
        let fits = (ratio - whole as f64).abs() < 1e-3 * ratio && (coarse[d] == fine[d] / whole || coarse[d] == fine[d].div_ceil(whole));
        fits.then_some(whole)
    };
    (0..fine.len()).map(one).collect()
}

/// The coarsest level that is no coarser than a picture whose pixels stand for that many elements, and cuts no index short.
pub fn chosen<'a>(levels: &'a [Level], finest: &[u64], by: &[(usize, u64)]) -> Option<&'a Level> {
    let enough = |level: &&Level| {
        (0..finest.len()).all(|d| {
            let most = by.iter().find(|(e, _)| *e == d).map_or(1, |(_, n)| *n);
            level.ratios[d] <= most && level.array.shape()[d] * level.ratios[d] >= finest[d]
        })
    };
    levels.iter().rev().find(enough)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_whole_numbers_that_fit_the_shapes() {
        let of = |fine: &[u64], coarse: &[u64], scale: &[f64]| ratios(fine, coarse, &[1.0, 0.5], scale);
        assert_eq!(of(&[3, 100], &[3, 50], &[1.0, 1.0]), Some(vec![1, 2]));
        assert_eq!(of(&[3, 101], &[3, 51], &[1.0, 1.0]), Some(vec![1, 2]));
        assert_eq!(of(&[3, 101], &[3, 50], &[1.0, 1.0]), Some(vec![1, 2]));
        assert_eq!(of(&[3, 100], &[3, 40], &[1.0, 1.0]), None);
        assert_eq!(of(&[3, 100], &[3, 66], &[1.0, 0.75]), None);
        assert_eq!(of(&[3, 100], &[50], &[1.0]), None);
    }
}
