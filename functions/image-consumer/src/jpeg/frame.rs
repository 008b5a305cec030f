//! The frame: how large the picture is and how its blocks lie.

use super::malformed;
use crate::picture_error::PictureError;

/// The size that pictures are decoded at.
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

/// One component: luma, a chroma, an ink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Component {
    pub(super) id: u8,
    /// Horizontal sampling factor, 1 to 4.
    pub(super) h: u32,
    /// Vertical sampling factor, 1 to 4.
    pub(super) v: u32,
    /// Number of its quantization table, 0 to 3.
    pub(super) table: usize,
}

/// The frame header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) is_progressive: bool,
    pub(super) components: Vec<Component>,
    pub(super) h_max: u32,
    pub(super) v_max: u32,
}

impl Frame {
    pub(super) fn new(
        (width, height): (u32, u32),
        is_progressive: bool,
        mut components: Vec<Component>,
    ) -> Result<Self, PictureError> {
        if components.iter().any(|component| !(1..=4).contains(&component.h) || !(1..=4).contains(&component.v)) {
            return Err(malformed("a sampling factor is out of range"));
        }
        // A single component has one block a unit, whatever its factors say (T.81, A.2.2).
        if let [only] = &mut components[..] {
            (only.h, only.v) = (1, 1);
        }
        let h_max = components.iter().map(|component| component.h).max().unwrap_or(1);
        let v_max = components.iter().map(|component| component.v).max().unwrap_or(1);
        Ok(Self { width, height, is_progressive, components, h_max, v_max })
    }

    /// Interleaved units (MCUs) in a row and in a column.
    pub(super) fn units(&self) -> (u32, u32) {
        (self.width.div_ceil(8 * self.h_max), self.height.div_ceil(8 * self.v_max))
    }

    /// Blocks of a component in a row and in a column, those included that only fill the last units.
    pub(super) fn padded_blocks(&self, component: &Component) -> (u32, u32) {
        let (across, down) = self.units();
        (across * component.h, down * component.v)
    }

    /// Blocks of a component that hold pixels: what a scan of this component alone has.
    pub(super) fn own_blocks(&self, component: &Component) -> (u32, u32) {
        let samples = |side: u32, factor: u32, most: u32| (side * factor).div_ceil(most).div_ceil(8);
        (samples(self.width, component.h, self.h_max), samples(self.height, component.v, self.v_max))
    }

    /// Bytes of all coefficients, where they have to be kept until the last scan.
    pub(super) fn coefficient_bytes(&self) -> u64 {
        let blocks = self.components.iter().map(|component| {
            let (across, down) = self.padded_blocks(component);
            u64::from(across) * u64::from(down)
        });
        blocks.sum::<u64>() * 64 * size_of::<i16>() as u64
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

    #[test]
    fn blocks_are_counted_with_and_without_filling() {
        let component = |h, v| Component { id: 1, h, v, table: 0 };
        let frame = Frame::new((17, 9), false, vec![component(2, 2), component(1, 1), component(1, 1)]).unwrap();
        assert_eq!(frame.units(), (2, 1));
        assert_eq!((frame.padded_blocks(&frame.components[0]), frame.own_blocks(&frame.components[0])), ((4, 2), (3, 2)));
        assert_eq!((frame.padded_blocks(&frame.components[1]), frame.own_blocks(&frame.components[1])), ((2, 1), (2, 1)));
        assert_eq!(frame.coefficient_bytes(), (8 + 2 + 2) * 128);
    }
}
