//! An original, as somebody has uploaded it.

use bytes::Bytes;
use ikkai::job::ImageFormat;
use image_consumer::{Cancel, Encoding, Output, PictureError, RenderSettings, Rendering};

use crate::memory::peak_of;

const SETTINGS: RenderSettings = RenderSettings {
    encoding: Encoding { background: [255; 3], jpeg_quality: 80, webp_quality: 80 },
    max_pixels: 1 << 20,
    enlarge: false,
};

/// Longest sides of the outputs.
const SIZES: [u32; 2] = [48, 7];

/// What a small function has for pictures.
const MEMORY: u64 = 48 << 20;

/// What reading a header may take: tables of the decoder, a colour profile.
const HEADER_MEMORY: u64 = 8 << 20;

/// What the decoder of lossless WebP makes of a byte of the file at most, in tables of its codes. No header tells of them, and the plan does not yet.
const CODE_TABLES: u64 = 1024;

/// What has to hold for any bytes.
///
/// # Panics
/// When it does not.
pub fn check(input: &[u8]) {
    let original = Bytes::copy_from_slice(input);
    let (planned, taken) = peak_of(|| Rendering::plan(original, &SIZES, &ImageFormat::ALL, &SETTINGS));
    assert!(taken <= HEADER_MEMORY + 4 * input.len() as u64, "reading the header took {taken} bytes");
    let rendering = match planned {
        Ok(rendering) => rendering,
        Err(error) => return check_refused(&error),
    };
    let (width, height) = rendering.source_dimensions();
    assert!(width > 0 && height > 0 && u64::from(width) * u64::from(height) <= SETTINGS.max_pixels, "{width} × {height}");
    let mut planned = rendering.working_bytes();
    if planned > MEMORY {
        // The consumer refuses it, too: there is no room.
        return;
    }
    if rendering.source_format() == "webp" {
        planned += CODE_TABLES * lossless_bytes(input);
    }
    let (outputs, taken) = peak_of(|| rendering.run(&Cancel::default()));
    assert!(taken <= planned, "{taken} bytes were taken, {planned} were planned");
    match outputs {
        Ok(outputs) => check_outputs(&outputs, (width, height)),
        Err(error) => check_refused(&error),
    }
}

/// Bytes of a WebP's lossless parts: its picture's, or its alpha's.
fn lossless_bytes(file: &[u8]) -> u64 {
    let parts = file.windows(8).filter(|start| start.starts_with(b"VP8L") || start.starts_with(b"ALPH"));
    let lengths = parts.map(|start| u64::from(u32::from_le_bytes([start[4], start[5], start[6], start[7]])));
    lengths.map(|length| length.min(file.len() as u64)).sum()
}

/// A refusal is about the original, and says what to do.
fn check_refused(error: &PictureError) {
    let about_the_original = !matches!(error, PictureError::Cancelled | PictureError::NotWritten { .. });
    assert!(about_the_original, "{error}");
    assert!(!error.code().is_empty() && error.to_string().contains("upload"), "{error}");
}

/// Every size in every format, each a picture that this consumer reads itself, and nothing of the original beside its pixels.
fn check_outputs(outputs: &[Output], source: (u32, u32)) {
    assert_eq!(outputs.len(), SIZES.len() * ImageFormat::ALL.len());
    for (output, (size, format)) in
        outputs.iter().zip(SIZES.iter().flat_map(|size| ImageFormat::ALL.map(|format| (size, format))))
    {
        assert_eq!((output.size, output.format), (*size, format));
        let longest = output.width.max(output.height);
        assert_eq!(longest, (*size).min(source.0.max(source.1)), "the longest side, and never enlarged");
        assert!(output.width.min(output.height) > 0);
        let upright = |(width, height): (u32, u32)| width > height;
        assert!(
            source.0 == source.1 || output.width == output.height || upright(source) == upright((output.width, output.height))
        );
        let read = Rendering::plan(output.bytes.clone(), &SIZES, &[format], &SETTINGS).expect("an output is a picture");
        assert_eq!((read.source_format(), read.source_dimensions()), (format.name(), (output.width, output.height)));
        assert!(!output.bytes.windows(6).any(|bytes| bytes == b"Exif\0\0"), "nothing of the camera stays");
    }
}
