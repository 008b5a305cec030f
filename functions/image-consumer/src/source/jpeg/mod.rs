//! JPEG originals, baseline and progressive, decoded at the smallest scale that is large enough: a thumbnail of a large photograph costs a
//! fraction of it.
//!
//! The header is read here, because the decoder would only tell of sizes, memory and a missing end when it is at work. The decoder has
//! threads of its own, one for each component; when it fails, they end by themselves once they have worked off what they were given.

mod header;
mod reader;
mod scale;
#[cfg(test)]
mod tests;

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
};

use jpeg_decoder::{ColorTransform, Decoder, Error};

use self::{header::ColorModel, reader::CancellableReader};
pub(crate) use self::{header::Header, scale::Scale};
use super::{Kind, Reduction, Source};
use crate::{
    cancel::Cancel,
    orientation::Orientation,
    picture::{Canvas, Layout, Picture, Reduced},
    picture_error::PictureError,
    recognise::SourceFormat,
};

pub(super) fn inspect(bytes: &[u8]) -> Result<Source, PictureError> {
    let mut header = Header::read(bytes)?;
    // A profile of inks does not fit what they are converted to.
    let profile = header.profile.take().filter(|_| header.channels() < 4);
    Ok(Source {
        format: SourceFormat::Jpeg,
        dimensions: (header.width, header.height),
        layout: Layout::Rgb,
        orientation: header.exif.take().map_or_else(Orientation::default, |exif| Orientation::read(&exif)),
        profile,
        kind: Kind::Jpeg(Box::new(header)),
    })
}

pub(super) fn decode(bytes: &[u8], header: &Header, reduction: Reduction, cancel: &Cancel) -> Result<Reduced, PictureError> {
    let Reduction { scale, factor } = reduction;
    let (width, height) = (scale.of(header.width), scale.of(header.height));
    // A file that was made to break the decoder must not be tried again.
    let decoded = catch_unwind(AssertUnwindSafe(|| decode_pixels(bytes, header, scale, cancel)));
    let pixels = decoded.map_err(|_| malformed("the decoder cannot read it"))??;
    if pixels.len() != width as usize * height as usize * header.channels() {
        return Err(malformed("it has another size than its header says"));
    }

    let picture = if factor == 1 && header.channels() == 3 {
        Picture { width, height, layout: Layout::Rgb, pixels }
    } else {
        let mut canvas = Canvas::new((width, height), Layout::Rgb, factor);
        let mut rgb = Vec::with_capacity(width as usize * 3);
        for row in pixels.chunks_exact(width as usize * header.channels()) {
            cancel.check()?;
            to_rgb(header.color_model(), row, &mut rgb);
            canvas.push(&rgb);
        }
        canvas.finish("JPEG")?.picture
    };
    let per_pixel = 8.0 / f64::from(scale.block_side()) * f64::from(factor);
    Ok(Reduced { picture, extent: (f64::from(header.width) / per_pixel, f64::from(header.height) / per_pixel) })
}

fn decode_pixels(bytes: &[u8], header: &Header, scale: Scale, cancel: &Cancel) -> Result<Vec<u8>, PictureError> {
    let failure = |error: Error| cancel.check().err().unwrap_or_else(|| failure(&error));
    let (image, end) = bytes.split_at(header.end);
    let mut reader = CancellableReader::new([image, MISSING.as_slice(), end], cancel);
    let mut decoder = Decoder::new(&mut reader);
    decoder.set_color_transform(match header.color_model() {
        ColorModel::Gray => ColorTransform::Grayscale,
        ColorModel::Rgb => ColorTransform::RGB,
        ColorModel::YCbCr => ColorTransform::YCbCr,
        ColorModel::Cmyk { .. } => ColorTransform::CMYK,
        ColorModel::Ycck => ColorTransform::YCCK,
    });
    // It takes the smallest scale at which one of the sides is large enough: the longest is to decide.
    let side = |side: u32, other: u32| if side < other { u16::MAX } else { scale.of(side) as u16 };
    decoder.scale(side(header.width, header.height), side(header.height, header.width)).map_err(failure)?;
    let decoded = decoder.decode();
    drop(decoder);
    decoded.map_err(|error| match error {
        Error::Format(_) if reader.position() > header.end => truncated(),
        error => failure(error),
    })
}

/// Colours of a row as the decoder hands them out.
fn to_rgb(model: ColorModel, row: &[u8], rgb: &mut Vec<u8>) {
    rgb.clear();
    match model {
        ColorModel::Gray => rgb.extend(row.iter().flat_map(|&gray| [gray; 3])),
        ColorModel::Rgb | ColorModel::YCbCr => rgb.extend_from_slice(row),
        // The decoder takes all inks for Adobe's, which are stored inverted, and hands out how much of each there is.
        ColorModel::Cmyk { is_inverted: true } | ColorModel::Ycck => {
            rgb.extend(row.chunks_exact(4).flat_map(|inks| [0, 1, 2].map(|at| left_over(255 - inks[at], 255 - inks[3]))));
        }
        ColorModel::Cmyk { is_inverted: false } => {
            rgb.extend(row.chunks_exact(4).flat_map(|inks| [0, 1, 2].map(|at| left_over(inks[at], inks[3]))));
        }
    }
}

/// What a colour and black leave of white.
fn left_over(color: u8, black: u8) -> u8 {
    ((u32::from(color) * u32::from(black) + 127) / 255) as u8
}

/// Stands before the end marker, where the decoder would fill up what is missing: coded data of ones alone, which are no code (T.81, annex C).
/// Whole scans end before them and the decoder passes them over; one that was cut off before somebody put an end marker behind it runs into
/// them and fails. Longer than what may follow a code.
const MISSING: [u8; 256] = {
    let mut stuffed = [0; 256];
    let mut at = 0;
    while at < stuffed.len() {
        stuffed[at] = 0xff;
        at += 2;
    }
    stuffed
};

fn failure(error: &Error) -> PictureError {
    match error {
        Error::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => truncated(),
        Error::Unsupported(_) => PictureError::Unsupported { what: "a JPEG of a rare kind" },
        _ => malformed("it breaks a rule of its format"),
    }
}

fn truncated() -> PictureError {
    PictureError::Truncated { format: "JPEG" }
}

fn malformed(what: &'static str) -> PictureError {
    PictureError::Malformed { format: "JPEG", what }
}
