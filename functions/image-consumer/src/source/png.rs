//! PNG originals: 1 to 16 bits, palette, grey or colour, with or without alpha. Of an animated one its still picture is taken.

use std::io::Cursor;

use png::{ColorType, Decoder, DecodingError, Limits, Reader, Transformations};

use super::{Kind, Source};
use crate::{
    cancel::Cancel,
    orientation::Orientation,
    picture::{Canvas, Layout, Reduced},
    picture_error::PictureError,
    recognise::SourceFormat,
};

/// What chunks other than pixels may take, inflated: a colour profile, EXIF.
const MAX_CHUNK_BYTES: usize = 8 * 1024 * 1024;
/// What the inflater keeps: a window, tables and buffers.
const INFLATER_BYTES: u64 = 512 * 1024;

pub(super) struct PngInfo {
    /// Bytes of a row as stored and as handed out, whichever is more.
    row_bytes: u64,
    height: u32,
    is_interlaced: bool,
}

impl PngInfo {
    pub(super) fn decoding_bytes(&self) -> u64 {
        // Two rows for the filter, one handed out, one in the canvas's layout; an interlaced picture is put together as a whole.
        let rows = if self.is_interlaced { u64::from(self.height) + 4 } else { 4 };
        MAX_CHUNK_BYTES as u64 + INFLATER_BYTES + self.row_bytes * rows
    }
}

pub(super) fn inspect(bytes: &[u8]) -> Result<Source, PictureError> {
    let reader = reader(bytes)?;
    let info = reader.info();
    let (color, _) = reader.output_color_type();
    let stored = info.raw_row_length() as u64;
    let given_out = u64::from(info.width) * 4;
    Ok(Source {
        format: SourceFormat::Png,
        dimensions: (info.width, info.height),
        layout: if matches!(color, ColorType::Rgba | ColorType::GrayscaleAlpha) { Layout::Rgba } else { Layout::Rgb },
        orientation: info.exif_metadata.as_deref().map_or_else(Orientation::default, Orientation::read),
        profile: info.icc_profile.as_deref().map(<[u8]>::to_vec),
        kind: Kind::Png(PngInfo { row_bytes: stored.max(given_out), height: info.height, is_interlaced: info.interlaced }),
    })
}

/// Text is passed over without inflating it, and other chunks have a limit.
fn reader(bytes: &[u8]) -> Result<Reader<Cursor<&[u8]>>, PictureError> {
    let mut decoder = Decoder::new_with_limits(Cursor::new(bytes), Limits { bytes: MAX_CHUNK_BYTES });
    decoder.set_ignore_text_chunk(true);
    decoder.set_transformations(Transformations::EXPAND | Transformations::STRIP_16);
    decoder.read_info().map_err(|error| failure(&error))
}

pub(super) fn decode(bytes: &[u8], source: &Source, factor: u32, cancel: &Cancel) -> Result<Reduced, PictureError> {
    let mut reader = reader(bytes)?;
    let (color, _) = reader.output_color_type();
    let mut canvas = Canvas::new(source.dimensions, source.layout, factor);
    let mut row = Vec::with_capacity(source.dimensions.0 as usize * source.layout.bytes());
    if reader.info().interlaced {
        let size = reader.output_buffer_size().ok_or(PictureError::Truncated { format: "PNG" })?;
        let mut pixels = vec![0; size];
        reader.next_frame(&mut pixels).map_err(|error| failure(&error))?;
        cancel.check()?;
        for stored in pixels.chunks_exact(source.dimensions.0 as usize * color.samples()) {
            unfold(stored, color, &mut row);
            canvas.push(&row);
        }
    } else {
        for _ in 0..source.dimensions.1 {
            cancel.check()?;
            let stored = reader.next_row().map_err(|error| failure(&error))?.ok_or(PictureError::Truncated { format: "PNG" })?;
            unfold(stored.data(), color, &mut row);
            canvas.push(&row);
        }
    }
    canvas.finish("PNG")
}

/// Grey to three colours.
fn unfold(stored: &[u8], color: ColorType, row: &mut Vec<u8>) {
    row.clear();
    match color {
        ColorType::Grayscale => row.extend(stored.iter().flat_map(|&gray| [gray; 3])),
        ColorType::GrayscaleAlpha => {
            row.extend(stored.chunks_exact(2).flat_map(|pixel| [pixel[0], pixel[0], pixel[0], pixel[1]]));
        }
        _ => row.extend_from_slice(stored),
    }
}

fn failure(error: &DecodingError) -> PictureError {
    let malformed = |what| PictureError::Malformed { format: "PNG", what };
    match error {
        DecodingError::IoError(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            PictureError::Truncated { format: "PNG" }
        }
        DecodingError::IoError(_) | DecodingError::Parameter(_) => malformed("it cannot be read"),
        DecodingError::LimitsExceeded => malformed("a chunk is larger than any picture needs"),
        // The text of these may quote the file.
        DecodingError::Format(_) => malformed("it breaks a rule of its format"),
    }
}
