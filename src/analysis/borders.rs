//! Where blocks begin along one dimension: a list, or, where there are very many, the rule of a regular grid.

/// More borders than this are not listed where a rule can stand for them.
const MOST_LISTED: u64 = 1 << 20;

/// The borders of blocks: the first is 0, the last the length of what is cut.
#[derive(Clone, Debug, PartialEq)]
pub enum Borders {
    /// Every one.
    Listed(Vec<u64>),
    /// The first block has `first` elements, each other one `each`, the last what is left of `total`.
    Regular {
        /// The length of the first block.
        first: u64,
        /// That of all others.
        each: u64,
        /// That of all blocks together.
        total: u64,
    },
}

impl Borders {
    /// The number of blocks.
    pub fn blocks(&self) -> u64 {
        match self {
            Borders::Listed(all) => all.len() as u64 - 1,
            Borders::Regular { first, each, total } => u64::from(*total > 0) + total.saturating_sub(*first).div_ceil(*each),
        }
    }

    /// Where block `n` begins, and its length.
    pub fn block(&self, n: u64) -> (u64, u64) {
        match self {
            Borders::Listed(all) => (all[n as usize], all[n as usize + 1] - all[n as usize]),
            Borders::Regular { first, each, total } => {
                let begin = if n == 0 { 0 } else { first + (n - 1) * each };
                let length = if n == 0 { *first } else { *each };
                (begin, length.min(total - begin))
            }
        }
    }

    /// The number of the block that has the element at `position`.
    pub fn block_of(&self, position: u64) -> u64 {
        match self {
            Borders::Listed(all) => all.partition_point(|&border| border <= position) as u64 - 1,
            Borders::Regular { first, each, .. } => position.checked_sub(*first).map_or(0, |behind| 1 + behind / each),
        }
    }

    /// The length of the longest block.
    pub fn longest(&self) -> u64 {
        match self {
            Borders::Listed(all) => all.windows(2).map(|w| w[1] - w[0]).max().unwrap_or(1).max(1),
            Borders::Regular { first, each, total } => (*first).max(*each).min(*total).max(1),
        }
    }

    /// Fewer borders, at most `most` apart where they can be.
    pub fn join(&mut self, most: u64) {
        match self {
            Borders::Listed(all) => *all = joined(all, most),
            Borders::Regular { each, .. } => *each *= (most / *each).max(1),
        }
    }

    /// More borders, at most `most` apart.
    pub fn divide(&mut self, most: u64) {
        match self {
            Borders::Listed(all) => {
                let blocks = all.windows(2).fold(0, |n: u64, w| n.saturating_add((w[1] - w[0]).div_ceil(most)));
                let total = all.last().copied().unwrap_or(0);
                // Such chunks are read in parts anyway, wherever those end.
                *self = if blocks > MOST_LISTED {
                    Borders::Regular { first: most, each: most, total }
                } else {
                    Borders::Listed(divided(all, most))
                };
            }
            // Borders of chunks that are this many and this large are lost.
            Borders::Regular { first, each, .. } => (*first, *each) = ((*first).min(most), (*each).min(most)),
        }
    }
}

fn joined(cuts: &[u64], most: u64) -> Vec<u64> {
    let mut all = vec![cuts[0]];
    for pair in cuts.windows(2) {
        let begin = all[all.len() - 1];
        if pair[1] - begin > most && pair[0] > begin {
            all.push(pair[0]);
        }
    }
    all.extend(cuts.last().filter(|_| cuts.len() > 1));
    all
}

fn divided(cuts: &[u64], most: u64) -> Vec<u64> {
    let mut all = vec![cuts[0]];
    for pair in cuts.windows(2) {
        all.extend((1..(pair[1] - pair[0]).div_ceil(most)).map(|i| pair[0] + i * most));
        all.push(pair[1]);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All borders, the last one too.
    fn all(borders: &Borders) -> Vec<u64> {
        let mut all: Vec<u64> = (0..borders.blocks()).map(|n| borders.block(n).0).collect();
        all.extend((0..borders.blocks()).last().map(|n| borders.block(n).0 + borders.block(n).1));
        all
    }

    #[test]
    fn borders_that_are_divided_very_often_become_a_rule() {
        for (ends, most, is_listed) in [([0, 1 << 20, 1 << 21], 2, true), ([0, 5, 1 << 40], 16, false), ([0, 1 << 62, 1 << 63], 2, false)] {
            let mut borders = Borders::Listed(ends.to_vec());
            borders.divide(most);
            let (last, length) = borders.block(borders.blocks() - 1);
            assert_eq!((matches!(borders, Borders::Listed(_)), borders.longest(), last + length), (is_listed, most, ends[2]), "{ends:?}");
            assert_eq!(borders.block_of(ends[2] - 1), borders.blocks() - 1);
        }
    }

    #[test]
    fn a_rule_gives_what_a_list_does() {
        for (first, each, total) in [(3, 5, 23), (5, 5, 25), (2, 5, 2), (1, 4, 100), (5, 5, 3)] {
            let mut rule = Borders::Regular { first, each, total };
            let listed = Borders::Listed(all(&rule));
            assert_eq!(all(&rule), all(&listed), "{first} {each} {total}");
            for position in 0..total {
                let (begin, length) = rule.block(rule.block_of(position));
                assert!((begin..begin + length).contains(&position) && listed.block_of(position) == rule.block_of(position));
            }
            assert!(rule.longest() >= listed.longest() && all(&rule).last() == Some(&total), "{first} {each} {total}");
            rule.join(11);
            assert!(rule.longest() <= 11 && all(&rule).last() == Some(&total));
            // Joined blocks end with chunks.
            assert!(all(&rule).iter().all(|&b| b == 0 || b == total || b % each == first % each));
            rule.divide(2);
            assert!(rule.longest() <= 2 && all(&rule).windows(2).all(|w| w[1] > w[0] && w[1] - w[0] <= 2));
        }
        assert_eq!(Borders::Regular { first: 4, each: 4, total: 0 }.blocks(), 0);
    }
}
