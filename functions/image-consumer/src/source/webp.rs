//! WebP originals, lossy and lossless. Of an animation the first frame is taken.
//!
//! Read by a decoder without `unsafe`, although the encoder's library could do it too: its C decoder once gave attackers a way in by a
//! picture (CVE-2023-4863, <https://nvd.nist.gov/vuln/detail/CVE-2023-4863>).

use std::io::Cursor;

use image_webp::{DecodingError, WebPDecoder};

use super::{Kind, Source};
use crate::{
    cancel::Cancel,
    orientation::Orientation,
    picture::{Canvas, Layout, Reduced},
    picture_error::PictureError,
    recognise::SourceFormat,
};

/// Most bytes of a colour profile or an EXIF block.
const MAX_METADATA_BYTES: usize = 4 * 1024 * 1024;

/// Most bytes that a lossy frame says one of its partitions has (RFC 6386, 9.5: three bytes). The decoder believes it: the memory is taken before it is
/// seen that the file ends.
const MAX_PARTITION_BYTES: usize = 1 << 24;

/// The frame as decoded, the planes it comes from, and for animations and alpha another copy; beside them the profile, and a partition.
pub(super) fn decoding_bytes(pixels: u64, layout: Layout) -> u64 {
    (MAX_METADATA_BYTES + MAX_PARTITION_BYTES) as u64 + pixels * (layout.bytes() as u64 + 8)
}

pub(super) fn inspect(bytes: &[u8]) -> Result<Source, PictureError> {
    check_length(bytes)?;
    let mut decoder = decoder(bytes)?;
    let dimensions = decoder.dimensions();
    check_frames(bytes.get(12..).unwrap_or_default(), dimensions)?;
    let exif = decoder.exif_metadata().map_err(|error| failure(&error))?;
    Ok(Source {
        format: SourceFormat::Webp,
        dimensions,
        layout: if decoder.has_alpha() { Layout::Rgba } else { Layout::Rgb },
        // Some writers put the marker of JPEG's segment in front.
        orientation: exif
            .map_or_else(Orientation::default, |exif| Orientation::read(exif.strip_prefix(b"Exif\0\0").unwrap_or(&exif))),
        profile: decoder.icc_profile().map_err(|error| failure(&error))?,
        kind: Kind::Webp,
    })
}

fn decoder(bytes: &[u8]) -> Result<WebPDecoder<Cursor<&[u8]>>, PictureError> {
    let mut decoder = WebPDecoder::new(Cursor::new(bytes)).map_err(|error| failure(&error))?;
    decoder.set_memory_limit(MAX_METADATA_BYTES);
    Ok(decoder)
}

/// The header says how long the file is (<https://developers.google.com/speed/webp/docs/riff_container>).
fn check_length(bytes: &[u8]) -> Result<(), PictureError> {
    let length = bytes.get(4..8).and_then(|bytes| <[u8; 4]>::try_from(bytes).ok()).map_or(u32::MAX, u32::from_le_bytes);
    let is_whole = u64::from(length) + 8 <= bytes.len() as u64;
    if is_whole { Ok(()) } else { Err(PictureError::Truncated { format: "WebP" }) }
}

/// A lossy frame has a size of its own, which the decoder believes before it compares it with the container's: one that is larger than the
/// picture is refused here. Animation frames are looked into.
fn check_frames(chunks: &[u8], dimensions: (u32, u32)) -> Result<(), PictureError> {
    for (name, body) in Chunks(chunks) {
        match name {
            b"VP8 " => check_lossy(body, dimensions)?,
            b"ANMF" => {
                let inner = Chunks(body.get(16..).unwrap_or_default());
                inner.filter(|(name, _)| *name == b"VP8 ").try_for_each(|(_, body)| check_lossy(body, dimensions))?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// The frame header (RFC 6386, 9.1).
fn check_lossy(body: &[u8], (width, height): (u32, u32)) -> Result<(), PictureError> {
    let malformed = |what| PictureError::Malformed { format: "WebP", what };
    let &[_, _, _, 0x9d, 0x01, 0x2a, w0, w1, h0, h1, ..] = body else { return Err(malformed("a frame has no header")) };
    let side = |low, high| u32::from(u16::from_le_bytes([low, high]) & 0x3fff);
    if side(w0, w1) > width || side(h0, h1) > height {
        return Err(malformed("a frame is larger than the picture"));
    }
    Ok(())
}

/// Goes from chunk to chunk of a RIFF file.
struct Chunks<'a>(&'a [u8]);

impl<'a> Iterator for Chunks<'a> {
    type Item = (&'a [u8; 4], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (name, rest) = self.0.split_first_chunk::<4>()?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let length = u32::from_le_bytes(*length) as usize;
        self.0 = rest.get(length.saturating_add(length & 1)..).unwrap_or_default();
        Some((name, &rest[..length.min(rest.len())]))
    }
}

pub(super) fn decode(bytes: &[u8], source: &Source, factor: u32, cancel: &Cancel) -> Result<Reduced, PictureError> {
    let mut decoder = decoder(bytes)?;
    let mut pixels = vec![0; decoder.output_buffer_size().ok_or(PictureError::NotAnImage)?];
    decoder.read_image(&mut pixels).map_err(|error| failure(&error))?;
    let mut canvas = Canvas::new(source.dimensions, source.layout, factor);
    for row in pixels.chunks_exact(source.dimensions.0 as usize * source.layout.bytes()) {
        cancel.check()?;
        canvas.push(row);
    }
    canvas.finish("WebP")
}

fn failure(error: &DecodingError) -> PictureError {
    match error {
        DecodingError::IoError(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            PictureError::Truncated { format: "WebP" }
        }
        _ => PictureError::Malformed { format: "WebP", what: "it breaks a rule of its format" },
    }
}
