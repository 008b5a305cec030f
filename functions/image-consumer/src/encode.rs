//! Pictures to files.

use std::io::{self, Write};

use ikkai::job::ImageFormat;
use image::{ExtendedColorType, codecs::jpeg::JpegEncoder};

use crate::{
    cancel::Cancel,
    picture::{Layout, Picture},
    picture_error::PictureError,
};

/// What the files shall be like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoding {
    /// What shows through where a format has no transparency: red, green, blue.
    pub background: [u8; 3],
    /// Quality of JPEG, 1 to 100 on libjpeg's scale.
    pub jpeg_quality: u8,
    /// Quality of WebP, 1 to 100 on libwebp's scale.
    pub webp_quality: u8,
}

/// Ending of a format's files.
pub(crate) fn extension(format: ImageFormat) -> &'static str {
    match format {
        ImageFormat::Webp => "webp",
        ImageFormat::Jpeg => "jpg",
        ImageFormat::Png => "png",
    }
}

/// Media type of a format.
pub(crate) fn content_type(format: ImageFormat) -> &'static str {
    match format {
        ImageFormat::Webp => "image/webp",
        ImageFormat::Jpeg => "image/jpeg",
        ImageFormat::Png => "image/png",
    }
}

/// Most bytes that a format's encoder takes, its file not counted.
pub(crate) fn working_bytes(format: ImageFormat, (width, height): (u32, u32), layout: Layout) -> u64 {
    let pixels = u64::from(width) * u64::from(height);
    let flattened = if layout == Layout::Rgba { pixels * 3 } else { 0 };
    match format {
        // Block by block: tables and one block.
        ImageFormat::Jpeg => flattened + 64 * 1024,
        // Planes, macroblocks and tokens, as noise takes them; with alpha its plane is compressed without loss, by way of four bytes a pixel.
        ImageFormat::Webp => 4 * 1024 * 1024 + pixels * if layout == Layout::Rgba { 34 } else { 18 },
        ImageFormat::Png => 1024 * 1024 + u64::from(width) * 16,
    }
}

/// Most bytes of a format's file: noise at the best quality.
pub(crate) fn file_bytes(format: ImageFormat, (width, height): (u32, u32), layout: Layout) -> u64 {
    let pixels = u64::from(width) * u64::from(height);
    let per_pixel = match format {
        ImageFormat::Jpeg => 4,
        ImageFormat::Webp | ImageFormat::Png => layout.bytes() as u64,
    };
    4096 + pixels * per_pixel + u64::from(height)
}

/// Encodes a picture. The same picture gives the same bytes.
///
/// # Errors
/// When the work was called off, or the encoder refuses, which it does for no picture within our limits.
pub(crate) fn encode(
    picture: &Picture,
    format: ImageFormat,
    encoding: &Encoding,
    cancel: &Cancel,
) -> Result<Vec<u8>, PictureError> {
    cancel.check()?;
    match format {
        ImageFormat::Jpeg => match picture.layout {
            Layout::Rgb => encode_jpeg(&picture.pixels, picture.dimensions(), encoding.jpeg_quality, cancel),
            Layout::Rgba => {
                let flat = flattened(picture, encoding.background);
                encode_jpeg(&flat, picture.dimensions(), encoding.jpeg_quality, cancel)
            }
        },
        ImageFormat::Webp => encode_webp(picture, encoding.webp_quality),
        ImageFormat::Png => encode_png(picture, cancel),
    }
}

/// Lays the picture on a background.
fn flattened(picture: &Picture, background: [u8; 3]) -> Vec<u8> {
    let over = |value: u8, behind: u8, alpha: u8| {
        let (alpha, clear) = (u32::from(alpha), 255 - u32::from(alpha));
        ((u32::from(value) * alpha + u32::from(behind) * clear + 127) / 255) as u8
    };
    let mut pixels = Vec::with_capacity(picture.pixels.len() / 4 * 3);
    for pixel in picture.pixels.chunks_exact(4) {
        pixels.extend((0..3).map(|at| over(pixel[at], background[at], pixel[3])));
    }
    pixels
}

/// Chroma keeps its resolution: the encoders that halve it are under terms of the Independent JPEG Group, which the house rule leaves out.
fn encode_jpeg(rgb: &[u8], (width, height): (u32, u32), quality: u8, cancel: &Cancel) -> Result<Vec<u8>, PictureError> {
    let mut file = Vec::new();
    let mut encoder = JpegEncoder::new_with_quality(Cancellable { file: &mut file, cancel }, quality);
    encoder.encode(rgb, width, height, ExtendedColorType::Rgb8).map_err(|_| not_written("JPEG", cancel))?;
    Ok(file)
}

fn encode_webp(picture: &Picture, quality: u8) -> Result<Vec<u8>, PictureError> {
    let encoder = match picture.layout {
        Layout::Rgb => webp::Encoder::from_rgb(&picture.pixels, picture.width, picture.height),
        Layout::Rgba => webp::Encoder::from_rgba(&picture.pixels, picture.width, picture.height),
    };
    let file = encoder.encode_simple(false, f32::from(quality)).map_err(|_| PictureError::NotWritten { format: "WebP" })?;
    Ok(file.to_vec())
}

fn encode_png(picture: &Picture, cancel: &Cancel) -> Result<Vec<u8>, PictureError> {
    let mut file = Vec::new();
    write_png(picture, Cancellable { file: &mut file, cancel }).map_err(|_| not_written("PNG", cancel))?;
    Ok(file)
}

/// Why an encoder stopped: the work was called off, or it refused.
fn not_written(format: &'static str, cancel: &Cancel) -> PictureError {
    cancel.check().err().unwrap_or(PictureError::NotWritten { format })
}

fn write_png(picture: &Picture, to: Cancellable<'_>) -> Result<(), png::EncodingError> {
    let mut encoder = png::Encoder::new(to, picture.width, picture.height);
    encoder.set_color(match picture.layout {
        Layout::Rgb => png::ColorType::Rgb,
        Layout::Rgba => png::ColorType::Rgba,
    });
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    let mut rows = writer.stream_writer()?;
    picture.rows().try_for_each(|row| rows.write_all(row))?;
    rows.finish()?;
    writer.finish()
}

/// A file whose writing can be called off between two blocks.
struct Cancellable<'a> {
    file: &'a mut Vec<u8>,
    cancel: &'a Cancel,
}

impl Write for Cancellable<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.cancel.check().map_err(io::Error::other)?;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENCODING: Encoding = Encoding { background: [255, 0, 10], jpeg_quality: 80, webp_quality: 80 };

    fn picture(layout: Layout) -> Picture {
        let pixels = (0..40 * 30).flat_map(|at| [at as u8, 90, 200, 128].into_iter().take(layout.bytes())).collect();
        Picture { width: 40, height: 30, layout, pixels }
    }

    #[test]
    fn every_format_and_layout_is_written_and_read_by_others() {
        for layout in [Layout::Rgb, Layout::Rgba] {
            for format in ImageFormat::ALL {
                let file = encode(&picture(layout), format, &ENCODING, &Cancel::default()).unwrap();
                assert_eq!(file, encode(&picture(layout), format, &ENCODING, &Cancel::default()).unwrap(), "deterministic");
                let read = image::load_from_memory(&file).unwrap();
                assert_eq!((read.width(), read.height()), (40, 30));
                assert_eq!(image::guess_format(&file).unwrap().to_mime_type(), content_type(format));
                assert_eq!(read.color().has_alpha(), layout == Layout::Rgba && format != ImageFormat::Jpeg);
                assert!(file.len() as u64 <= file_bytes(format, (40, 30), layout));
            }
        }
    }

    #[test]
    fn quality_is_a_matter_of_bytes_and_the_worst_case_is_counted() {
        let mut state = 1_u32;
        let mut noise = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        let pixels = (0..64 * 64 * 3).map(|_| noise()).collect();
        let noise = Picture { width: 64, height: 64, layout: Layout::Rgb, pixels };
        let sizes = [10, 50, 80, 100].map(|jpeg_quality| {
            encode(&noise, ImageFormat::Jpeg, &Encoding { jpeg_quality, ..ENCODING }, &Cancel::default()).unwrap().len()
        });
        assert!(sizes.is_sorted_by(|a, b| a < b), "{sizes:?}");
        assert!(sizes[3] as u64 <= file_bytes(ImageFormat::Jpeg, (64, 64), Layout::Rgb), "{sizes:?}");
    }

    #[test]
    fn the_background_shows_through_in_proportion() {
        let clear =
            Picture { width: 3, height: 1, layout: Layout::Rgba, pixels: vec![9, 9, 9, 0, 0, 200, 110, 255, 0, 0, 10, 51] };
        assert_eq!(flattened(&clear, ENCODING.background), [255, 0, 10, 0, 200, 110, 204, 0, 10]);
    }

    #[test]
    fn work_that_was_called_off_writes_nothing() {
        let cancel = Cancel::default();
        cancel.cancel();
        for format in ImageFormat::ALL {
            assert_eq!(encode(&picture(Layout::Rgb), format, &ENCODING, &cancel), Err(PictureError::Cancelled));
        }
    }
}
