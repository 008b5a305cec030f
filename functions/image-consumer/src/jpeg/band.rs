//! The samples of one row of units, and the pixel rows that they make.

use super::{
    color::ColorModel,
    frame::{Component, Frame, Scale},
    header::ColorHints,
};

/// One component's samples.
pub(super) struct Plane {
    /// Side of its blocks in samples: larger than the scale's where the component has fewer blocks, so that nothing has to be
    /// interpolated.
    pub(super) block_side: u32,
    pub(super) stride: usize,
    pub(super) samples: Vec<u8>,
    /// Samples for each pixel, as a fraction: across and down.
    across: (u32, u32),
    down: (u32, u32),
}

impl Plane {
    fn new(frame: &Frame, component: &Component, scale: Scale) -> Self {
        let mut block_side = scale.block_side();
        let has_room = |side: u32| {
            side < 8
                && (frame.h_max * scale.block_side()).is_multiple_of(component.h * side * 2)
                && (frame.v_max * scale.block_side()).is_multiple_of(component.v * side * 2)
        };
        while has_room(block_side) {
            block_side *= 2;
        }
        let stride = (frame.padded_blocks(component).0 * block_side) as usize;
        Self {
            block_side,
            stride,
            samples: vec![0; stride * (component.v * block_side) as usize],
            across: (component.h * block_side, frame.h_max * scale.block_side()),
            down: (component.v * block_side, frame.v_max * scale.block_side()),
        }
    }

    /// Where a block's first sample is.
    pub(super) fn offset(&self, column: u32, row: u32) -> usize {
        (row * self.block_side) as usize * self.stride + (column * self.block_side) as usize
    }

    /// The samples of a pixel row, one for each pixel; `wide` is for those that have to be stretched.
    fn row<'a>(&'a self, y: u32, width: usize, wide: &'a mut Vec<u8>) -> &'a [u8] {
        let start = (y * self.down.0 / self.down.1) as usize * self.stride;
        let samples = &self.samples[start..start + self.stride];
        if self.across.0 == self.across.1 {
            return samples;
        }
        wide.resize(width, 0);
        if 2 * self.across.0 == self.across.1 {
            double(samples, wide);
        } else {
            let (per, pixels) = (self.across.0 as usize, self.across.1 as usize);
            for (x, value) in wide.iter_mut().enumerate() {
                *value = samples[x * per / pixels];
            }
        }
        wide
    }
}

/// Two pixels for each sample, three parts of the nearer one and one of the other.
fn double(samples: &[u8], pixels: &mut [u8]) {
    let last = pixels.len().div_ceil(2).saturating_sub(1);
    let mix = |near: u8, far: u8, rounding: u16| ((3 * u16::from(near) + u16::from(far) + rounding) >> 2) as u8;
    for (x, pair) in pixels.chunks_mut(2).enumerate() {
        let here = samples[x];
        pair[0] = mix(here, samples[x.saturating_sub(1)], 1);
        if let Some(second) = pair.get_mut(1) {
            *second = mix(here, samples[(x + 1).min(last)], 2);
        }
    }
}

/// The planes of one row of units.
pub(super) struct Band {
    pub(super) planes: Vec<Plane>,
    model: ColorModel,
    width: u32,
    /// Pixel rows that are not handed out yet.
    rows_left: u32,
    rows_each: u32,
    wide: Vec<Vec<u8>>,
    row: Vec<u8>,
}

impl Band {
    pub(super) fn new(frame: &Frame, colors: ColorHints, scale: Scale) -> Self {
        let width = scale.of(frame.width);
        Self {
            planes: frame.components.iter().map(|component| Plane::new(frame, component, scale)).collect(),
            model: ColorModel::of(frame, colors),
            width,
            rows_left: scale.of(frame.height),
            rows_each: frame.v_max * scale.block_side(),
            wide: vec![Vec::new(); frame.components.len()],
            row: vec![0; width as usize * 3],
        }
    }

    /// Hands the pixel rows of the band out.
    pub(super) fn emit<E>(&mut self, sink: &mut impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let rows = self.rows_each.min(self.rows_left);
        self.rows_left -= rows;
        let width = self.width as usize;
        for y in 0..rows {
            let mut samples: [&[u8]; 4] = [&[]; 4];
            for ((samples, plane), wide) in samples.iter_mut().zip(&self.planes).zip(&mut self.wide) {
                *samples = &plane.row(y, width, wide)[..width];
            }
            self.model.convert(&samples[..self.planes.len()], &mut self.row);
            sink(&self.row)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubled_samples_pass_smoothly_from_one_to_the_next() {
        let mut pixels = [0; 5];
        double(&[0, 100, 200], &mut pixels);
        assert_eq!(pixels, [0, 25, 75, 125, 175]);
        let mut pixels = [0; 1];
        double(&[7], &mut pixels);
        assert_eq!(pixels, [7]);
    }

    #[test]
    fn a_component_with_fewer_blocks_is_reconstructed_larger_where_that_fits() {
        let component = |h, v| Component { id: 1, h, v, table: 0 };
        let frame = |h, v| Frame::new((64, 64), false, vec![component(h, v), component(1, 1), component(1, 1)]).unwrap();
        let side = |h, v, scale| Plane::new(&frame(h, v), &component(1, 1), scale).block_side;
        assert_eq!(side(2, 2, Scale::Half), 8);
        assert_eq!(side(2, 2, Scale::Full), 8);
        assert_eq!(side(2, 2, Scale::Eighth), 2);
        assert_eq!(side(2, 1, Scale::Half), 4, "only across");
        assert_eq!(side(1, 1, Scale::Half), 4);
        assert_eq!(side(4, 4, Scale::Quarter), 8);
    }
}
