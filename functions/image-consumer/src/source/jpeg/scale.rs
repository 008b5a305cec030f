//! The sizes that JPEGs are decoded at.

/// How much smaller than stored: a block of 8 × 8 pixels becomes one of fewer without computing the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scale {
    /// One pixel for each 8 × 8.
    Eighth,
    /// A quarter of each side.
    Quarter,
    /// Half of each side.
    Half,
    /// As it is.
    Full,
}

impl Scale {
    const SMALLEST_FIRST: [Self; 4] = [Self::Eighth, Self::Quarter, Self::Half, Self::Full];

    /// Pixels of a side of a block at this scale.
    pub(crate) const fn block_side(self) -> u32 {
        match self {
            Self::Eighth => 1,
            Self::Quarter => 2,
            Self::Half => 4,
            Self::Full => 8,
        }
    }

    /// The smallest scale at which a side of `original` pixels is still `wanted` or more.
    pub(crate) fn for_side(original: u32, wanted: u32) -> Self {
        let is_enough = |scale: &Self| scale.of(original) >= wanted;
        Self::SMALLEST_FIRST.into_iter().find(is_enough).unwrap_or(Self::Full)
    }

    /// What becomes of a side: at least one pixel.
    pub(crate) const fn of(self, side: u32) -> u32 {
        (side * self.block_side()).div_ceil(8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_scale_that_is_large_enough_is_taken() {
        for (original, wanted, scale) in [
            (2725, 720, Scale::Half),
            (2725, 256, Scale::Eighth),
            (2725, 342, Scale::Quarter),
            (2725, 341, Scale::Eighth),
            (2725, 1363, Scale::Half),
            (2725, 1364, Scale::Full),
            (100, 100, Scale::Full),
            (1, 1, Scale::Eighth),
        ] {
            assert_eq!(Scale::for_side(original, wanted), scale, "{original} to {wanted}");
        }
    }
}
