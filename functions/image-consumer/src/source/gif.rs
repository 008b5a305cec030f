//! GIF originals. Of an animation the first frame is taken, and the others are never looked at, however many there are.

use std::{io::Cursor, num::NonZeroU64};

use gif::{DecodeOptions, Decoder, DecodingError, MemoryLimit};

use super::{Kind, Source};
use crate::{
    cancel::Cancel,
    orientation::Orientation,
    picture::{Canvas, Layout, Reduced},
    picture_error::PictureError,
    recognise::SourceFormat,
};

/// What the decoder keeps besides pixels: dictionary and buffers.
const DECODER_BYTES: u64 = 256 * 1024;

/// The first frame: where it lies on the picture.
#[derive(Clone, Copy)]
pub(super) struct GifInfo {
    left: u32,
    top: u32,
    width: u32,
    height: u32,
    transparent: Option<u8>,
}

impl GifInfo {
    pub(super) fn frame_pixels(&self) -> u64 {
        u64::from(self.width) * u64::from(self.height)
    }

    /// The frame's indices, and a row.
    pub(super) fn decoding_bytes(&self, (width, _): (u32, u32)) -> u64 {
        DECODER_BYTES + self.frame_pixels() + u64::from(width) * 4
    }

    fn covers(&self, (width, height): (u32, u32)) -> bool {
        self.left == 0 && self.top == 0 && self.width >= width && self.height >= height
    }
}

pub(super) fn inspect(bytes: &[u8]) -> Result<Source, PictureError> {
    let mut decoder = decoder(bytes, MemoryLimit::Unlimited)?;
    let dimensions = (u32::from(decoder.width()), u32::from(decoder.height()));
    let frame = decoder.next_frame_info().map_err(|error| failure(&error))?.ok_or(PictureError::Truncated { format: "GIF" })?;
    let info = GifInfo {
        left: frame.left.into(),
        top: frame.top.into(),
        width: frame.width.into(),
        height: frame.height.into(),
        transparent: frame.transparent,
    };
    if dimensions.0 == 0 || dimensions.1 == 0 || info.frame_pixels() == 0 {
        return Err(PictureError::Malformed { format: "GIF", what: "a side is 0" });
    }
    let is_opaque = info.transparent.is_none() && info.covers(dimensions);
    Ok(Source {
        format: SourceFormat::Gif,
        dimensions,
        layout: if is_opaque { Layout::Rgb } else { Layout::Rgba },
        orientation: Orientation::default(),
        profile: None,
        kind: Kind::Gif(info),
    })
}

fn decoder(bytes: &[u8], limit: MemoryLimit) -> Result<Decoder<Cursor<&[u8]>>, PictureError> {
    let mut options = DecodeOptions::new();
    options.set_memory_limit(limit);
    options.allow_unknown_blocks(true);
    options.read_info(Cursor::new(bytes)).map_err(|error| failure(&error))
}

pub(super) fn decode(bytes: &[u8], source: &Source, factor: u32, cancel: &Cancel) -> Result<Reduced, PictureError> {
    let Kind::Gif(info) = source.kind else { return Err(PictureError::NotAnImage) };
    let limit = NonZeroU64::new(info.frame_pixels()).map_or(MemoryLimit::Unlimited, MemoryLimit::Bytes);
    let mut decoder = decoder(bytes, limit)?;
    decoder.next_frame_info().map_err(|error| failure(&error))?;
    let palette = decoder.palette().map_err(|error| failure(&error))?.to_vec();
    let mut indices = vec![0; decoder.buffer_size()];
    decoder.read_into_buffer(&mut indices).map_err(|error| failure(&error))?;
    let colors = colors(&palette, info.transparent);

    let (width, height) = source.dimensions;
    let bytes_each = source.layout.bytes();
    let mut canvas = Canvas::new(source.dimensions, source.layout, factor);
    let mut row = vec![0; width as usize * bytes_each];
    for y in 0..height {
        cancel.check()?;
        row.fill(0);
        if let Some(line) = y.checked_sub(info.top).filter(|line| *line < info.height) {
            let line = &indices[(line * info.width) as usize..][..info.width as usize];
            let pixels = row.chunks_exact_mut(bytes_each).skip(info.left as usize);
            for (pixel, &index) in pixels.zip(line) {
                pixel.copy_from_slice(&colors[usize::from(index)][..bytes_each]);
            }
        }
        canvas.push(&row);
    }
    canvas.finish("GIF")
}

/// Each index's colour. What the palette does not have is black, as browsers show it.
fn colors(palette: &[u8], transparent: Option<u8>) -> [[u8; 4]; 256] {
    let mut colors = [[0, 0, 0, 255]; 256];
    for (color, entry) in colors.iter_mut().zip(palette.chunks_exact(3)) {
        color[..3].copy_from_slice(entry);
    }
    if let Some(index) = transparent {
        colors[usize::from(index)] = [0; 4];
    }
    colors
}

fn failure(error: &DecodingError) -> PictureError {
    let malformed = |what| PictureError::Malformed { format: "GIF", what };
    match error {
        DecodingError::UnexpectedEof => PictureError::Truncated { format: "GIF" },
        DecodingError::Io(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            PictureError::Truncated { format: "GIF" }
        }
        DecodingError::MemoryLimit => malformed("a block is larger than the picture needs"),
        _ => malformed("it breaks a rule of its format"),
    }
}
