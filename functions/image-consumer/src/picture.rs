//! Pixels in memory, and how they get there row by row.

use crate::picture_error::PictureError;

/// What a pixel is made of, in sRGB with 8 bits each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Red, green, blue.
    Rgb,
    /// The same with alpha, not multiplied into them.
    Rgba,
}

impl Layout {
    /// Bytes of a pixel.
    pub(crate) const fn bytes(self) -> usize {
        match self {
            Self::Rgb => 3,
            Self::Rgba => 4,
        }
    }
}

/// A picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Picture {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) layout: Layout,
    pub(crate) pixels: Vec<u8>,
}

impl Picture {
    pub(crate) fn dimensions(&self) -> (u32, u32) {
        (self.width, self.height)
    }

    /// The rows, top down.
    pub(crate) fn rows(&self) -> std::slice::ChunksExact<'_, u8> {
        self.pixels.chunks_exact(self.width as usize * self.layout.bytes())
    }
}

/// A picture that was made smaller while it was read. Its last column and row may stand for a part of a pixel only.
#[derive(Clone, Debug)]
pub(crate) struct Reduced {
    pub(crate) picture: Picture,
    /// What of it the original fills, in its own pixels.
    pub(crate) extent: (f64, f64),
}

/// Takes rows and keeps the mean of each square of `factor` × `factor` pixels, so that memory does not grow with the original.
pub(crate) struct Canvas {
    factor: u32,
    source: (u32, u32),
    picture: Picture,
    /// Sums of the rows of the square that is being read: colours, weighted by alpha, and alpha.
    sums: Vec<u32>,
    /// Rows in `sums`.
    summed_rows: u32,
}

impl Canvas {
    /// Largest factor: the sums of a square of this side fit into 32 bits.
    pub(crate) const MAX_FACTOR: u32 = 128;

    /// For a source of this size; a factor of one keeps the rows as they are.
    pub(crate) fn new(source: (u32, u32), layout: Layout, factor: u32) -> Self {
        let factor = factor.clamp(1, Self::MAX_FACTOR);
        let (width, height) = (source.0.div_ceil(factor), source.1.div_ceil(factor));
        let pixels = Vec::with_capacity(width as usize * height as usize * layout.bytes());
        let sums = if factor > 1 { vec![0; width as usize * layout.bytes()] } else { Vec::new() };
        Self { factor, source, picture: Picture { width, height, layout, pixels }, sums, summed_rows: 0 }
    }

    /// Bytes that a canvas takes.
    pub(crate) fn bytes(source: (u32, u32), layout: Layout, factor: u32) -> u64 {
        let (width, height) = (u64::from(source.0.div_ceil(factor)), u64::from(source.1.div_ceil(factor)));
        let sums = if factor > 1 { width * 4 } else { 0 };
        (width * height + sums) * layout.bytes() as u64
    }

    /// Takes the next row of the source, in the canvas's layout.
    pub(crate) fn push(&mut self, row: &[u8]) {
        if self.factor == 1 {
            self.picture.pixels.extend_from_slice(row);
            return;
        }
        let square = self.factor as usize;
        match self.picture.layout {
            Layout::Rgb => {
                for (sum, pixels) in self.sums.chunks_exact_mut(3).zip(row.chunks(3 * square)) {
                    for pixel in pixels.chunks_exact(3) {
                        sum.iter_mut().zip(pixel).for_each(|(sum, &value)| *sum += u32::from(value));
                    }
                }
            }
            Layout::Rgba => {
                for (sum, pixels) in self.sums.chunks_exact_mut(4).zip(row.chunks(4 * square)) {
                    for pixel in pixels.chunks_exact(4) {
                        let alpha = u32::from(pixel[3]);
                        sum[..3].iter_mut().zip(pixel).for_each(|(sum, &value)| *sum += u32::from(value) * alpha);
                        sum[3] += alpha;
                    }
                }
            }
        }
        self.summed_rows += 1;
        if self.summed_rows == self.factor {
            self.write_means();
        }
    }

    fn write_means(&mut self) {
        let (bytes, rows) = (self.picture.layout.bytes(), self.summed_rows);
        let columns = |at: usize| self.factor.min(self.source.0 - at as u32 * self.factor);
        for (at, sum) in self.sums.chunks_exact(bytes).enumerate() {
            let count = rows * columns(at);
            let mean = |sum: u32, count: u32| ((sum + count / 2) / count) as u8;
            match *sum {
                [red, green, blue] => self.picture.pixels.extend([red, green, blue].map(|sum| mean(sum, count))),
                // Nothing of a pixel that is all clear is seen.
                [_, _, _, 0] => self.picture.pixels.extend([0; 4]),
                [red, green, blue, alpha] => {
                    self.picture.pixels.extend([red, green, blue].map(|sum| mean(sum, alpha)));
                    self.picture.pixels.push(mean(alpha, count));
                }
                _ => {}
            }
        }
        self.sums.fill(0);
        self.summed_rows = 0;
    }

    /// The picture, once all rows are in.
    ///
    /// # Errors
    /// When rows are missing.
    pub(crate) fn finish(mut self, format: &'static str) -> Result<Reduced, PictureError> {
        if self.summed_rows > 0 {
            self.write_means();
        }
        let expected = self.picture.width as usize * self.picture.height as usize * self.picture.layout.bytes();
        if self.picture.pixels.len() != expected {
            return Err(PictureError::Truncated { format });
        }
        let factor = f64::from(self.factor);
        let extent = (f64::from(self.source.0) / factor, f64::from(self.source.1) / factor);
        Ok(Reduced { picture: self.picture, extent })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canvas(source: (u32, u32), layout: Layout, factor: u32, rows: &[&[u8]]) -> Result<Reduced, PictureError> {
        let mut canvas = Canvas::new(source, layout, factor);
        rows.iter().for_each(|row| canvas.push(row));
        canvas.finish("PNG")
    }

    #[test]
    fn squares_become_their_mean_and_what_is_left_over_its_own() {
        let reduced = canvas(
            (3, 3),
            Layout::Rgb,
            2,
            &[&[10, 0, 0, 20, 0, 0, 100, 1, 2], &[30, 0, 0, 40, 0, 0, 50, 1, 2], &[7, 0, 9, 9, 0, 9, 200, 3, 4]],
        )
        .unwrap();
        assert_eq!(reduced.picture.dimensions(), (2, 2));
        assert_eq!(reduced.picture.pixels, [25, 0, 0, 75, 1, 2, 8, 0, 9, 200, 3, 4]);
        assert_eq!(reduced.extent, (1.5, 1.5));
    }

    #[test]
    fn clear_pixels_lend_no_colour() {
        let reduced = canvas((2, 1), Layout::Rgba, 2, &[&[200, 100, 50, 255, 0, 0, 0, 0]]).unwrap();
        assert_eq!(reduced.picture.pixels, [200, 100, 50, 128]);
        assert_eq!(canvas((2, 1), Layout::Rgba, 2, &[&[9, 9, 9, 0, 9, 9, 9, 0]]).unwrap().picture.pixels, [0; 4]);
    }

    #[test]
    fn the_largest_square_of_white_does_not_overflow() {
        let side = Canvas::MAX_FACTOR as usize;
        let row = vec![255; side * 4];
        let rows = vec![&row[..]; side];
        let reduced = canvas((side as u32, side as u32), Layout::Rgba, Canvas::MAX_FACTOR, &rows).unwrap();
        assert_eq!(reduced.picture.pixels, [255; 4]);
    }

    #[test]
    fn missing_rows_are_no_picture() {
        for factor in [1, 2] {
            let answer = canvas((1, 4), Layout::Rgb, factor, &[&[1, 2, 3], &[1, 2, 3]]);
            assert_eq!(answer.unwrap_err(), PictureError::Truncated { format: "PNG" });
        }
    }
}
