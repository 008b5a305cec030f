//! Samples of the components to RGB.

use super::{frame::Frame, header::ColorHints, inverse_dct::to_byte};

/// How the components make a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColorModel {
    /// One component.
    Gray,
    /// Red, green and blue as they are.
    Rgb,
    /// Luma and two chromas (JFIF).
    YCbCr,
    /// Four inks. Adobe's programs store them inverted, and all others of note are read by the same rule: 255 is no ink.
    Cmyk {
        /// The first three are stored as luma and chromas.
        is_ycck: bool,
        /// 255 is no ink.
        is_inverted: bool,
    },
}

impl ColorModel {
    /// As libjpeg decides it: by the JFIF segment, then by Adobe's, then by the components' names.
    pub(super) fn of(frame: &Frame, hints: ColorHints) -> Self {
        let is_named_rgb = frame.components.iter().map(|component| component.id).eq(*b"RGB");
        match (frame.components.len(), hints.adobe_transform) {
            (1, _) => Self::Gray,
            (3, _) if hints.is_jfif => Self::YCbCr,
            (3, Some(0)) => Self::Rgb,
            (3, Some(_)) => Self::YCbCr,
            (3, None) if is_named_rgb => Self::Rgb,
            (3, None) => Self::YCbCr,
            (_, transform) => Self::Cmyk { is_ycck: transform == Some(2), is_inverted: transform.is_some() },
        }
    }

    /// Writes a row in RGB. Each component has at least as many samples as the row has pixels.
    pub(super) fn convert(self, components: &[&[u8]], row: &mut [u8]) {
        match (self, components) {
            (Self::Gray, &[gray, ..]) => {
                for (pixel, &value) in row.chunks_exact_mut(3).zip(gray) {
                    pixel.fill(value);
                }
            }
            (Self::Rgb, &[red, green, blue, ..]) => interleave(red, green, blue, row),
            (Self::YCbCr, &[y, cb, cr, ..]) => from_ycbcr(y, cb, cr, row),
            (Self::Cmyk { is_ycck, is_inverted }, &[c, m, y, k, ..]) => {
                if is_ycck {
                    from_ycbcr(c, m, y, row);
                    // The conversion gives what the inks leave: the inks themselves are its complement.
                    row.iter_mut().for_each(|value| *value = 255 - *value);
                } else {
                    interleave(c, m, y, row);
                }
                print_inks(is_inverted, k, row);
            }
            _ => {}
        }
    }
}

fn interleave(first: &[u8], second: &[u8], third: &[u8], row: &mut [u8]) {
    for (((pixel, &a), &b), &c) in row.chunks_exact_mut(3).zip(first).zip(second).zip(third) {
        pixel.copy_from_slice(&[a, b, c]);
    }
}

/// ITU-R BT.601 with the full range, as JFIF says (T.871, 7).
fn from_ycbcr(y: &[u8], cb: &[u8], cr: &[u8], row: &mut [u8]) {
    const LANES: usize = 16;
    let mut pixels = row.chunks_exact_mut(3 * LANES);
    let samples = y.chunks_exact(LANES).zip(cb.chunks_exact(LANES)).zip(cr.chunks_exact(LANES));
    let mut done = 0;
    for (pixels, ((y, cb), cr)) in (&mut pixels).zip(samples) {
        let (mut red, mut green, mut blue) = ([0_u8; LANES], [0_u8; LANES], [0_u8; LANES]);
        for at in 0..LANES {
            [red[at], green[at], blue[at]] = rgb(y[at], cb[at], cr[at]);
        }
        for at in 0..LANES {
            pixels[3 * at] = red[at];
            pixels[3 * at + 1] = green[at];
            pixels[3 * at + 2] = blue[at];
        }
        done += LANES;
    }
    let rest = y[done..].iter().zip(&cb[done..]).zip(&cr[done..]);
    for (pixel, ((&y, &cb), &cr)) in row[3 * done..].chunks_exact_mut(3).zip(rest) {
        pixel.copy_from_slice(&rgb(y, cb, cr));
    }
}

#[inline(always)]
fn rgb(y: u8, cb: u8, cr: u8) -> [u8; 3] {
    let (y, cb, cr) = (f32::from(y), f32::from(cb) - 128.0, f32::from(cr) - 128.0);
    [to_byte(y + 1.402 * cr), to_byte(y - 0.344_136_3 * cb - 0.714_136_3 * cr), to_byte(y + 1.772 * cb)]
}

/// Three inks and black on white paper. Without a profile of the press this is what viewers show.
fn print_inks(is_inverted: bool, black: &[u8], row: &mut [u8]) {
    let light = |ink: u8| u16::from(if is_inverted { ink } else { 255 - ink });
    for (pixel, &black) in row.chunks_exact_mut(3).zip(black) {
        for value in pixel {
            *value = ((light(*value) * light(black) + 127) / 255) as u8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pixel(model: ColorModel, components: &[u8]) -> [u8; 3] {
        let samples: Vec<[u8; 1]> = components.iter().map(|&value| [value]).collect();
        let mut row = [0; 3];
        model.convert(&samples.iter().map(<[u8; 1]>::as_slice).collect::<Vec<_>>(), &mut row);
        row
    }

    #[test]
    fn luma_and_chroma_make_the_primary_colours() {
        for (components, expected) in [
            ([76, 85, 255], [254, 0, 0]),
            ([150, 44, 21], [0, 255, 1]),
            ([29, 255, 107], [0, 0, 254]),
            ([255, 128, 128], [255, 255, 255]),
            ([0, 128, 128], [0, 0, 0]),
        ] {
            assert_eq!(pixel(ColorModel::YCbCr, &components), expected);
        }
    }

    #[test]
    fn inks_darken_whichever_way_they_are_stored() {
        let model = |is_ycck, is_inverted| ColorModel::Cmyk { is_ycck, is_inverted };
        assert_eq!(pixel(model(false, false), &[0, 255, 255, 0]), [255, 0, 0]);
        assert_eq!(pixel(model(false, true), &[255, 0, 0, 255]), [255, 0, 0]);
        assert_eq!(pixel(model(false, true), &[255, 255, 255, 0]), [0, 0, 0]);
        assert_eq!(pixel(model(true, true), &[0, 128, 128, 255]), [255, 255, 255], "no luma: full light through no ink");
    }

    #[test]
    fn long_rows_are_converted_to_their_last_pixel() {
        let y: Vec<u8> = (0..37).map(|at| at * 7).collect();
        let chroma = vec![128; 37];
        let mut row = vec![0; 111];
        ColorModel::YCbCr.convert(&[&y, &chroma, &chroma], &mut row);
        assert!(row.chunks_exact(3).zip(&y).all(|(pixel, &y)| pixel == [y, y, y]));
    }
}
