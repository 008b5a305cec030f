//! The original: what its header says, and its pixels at a reduced size.

mod gif;
mod jpeg;
mod png;
mod webp;

use crate::{
    cancel::Cancel,
    orientation::Orientation,
    picture::{Canvas, Layout, Reduced},
    picture_error::PictureError,
    recognise::{SourceFormat, recognise},
};

/// What is known of an original before any pixel is decoded.
pub(crate) struct Source {
    pub(crate) format: SourceFormat,
    /// As stored; turning comes later.
    pub(crate) dimensions: (u32, u32),
    pub(crate) layout: Layout,
    pub(crate) orientation: Orientation,
    /// The ICC profile, where there is one and it is about red, green and blue.
    pub(crate) profile: Option<Vec<u8>>,
    kind: Kind,
}

/// What the decoder of the format needs besides.
enum Kind {
    Jpeg(Box<jpeg::Header>),
    Png(png::PngInfo),
    Webp,
    Gif(gif::GifInfo),
}

/// How much smaller than stored the pixels are decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reduction {
    /// By the transform of JPEG; full for the other formats.
    scale: jpeg::Scale,
    /// Then by the mean of squares of this side.
    factor: u32,
}

impl Source {
    /// Reads the header.
    ///
    /// # Errors
    /// When the bytes are no picture that is read here, or have more than `max_pixels` pixels.
    pub(crate) fn inspect(bytes: &[u8], max_pixels: u64) -> Result<Self, PictureError> {
        let source = match recognise(bytes)? {
            SourceFormat::Jpeg => jpeg::inspect(bytes),
            SourceFormat::Png => png::inspect(bytes),
            SourceFormat::Webp => webp::inspect(bytes),
            SourceFormat::Gif => gif::inspect(bytes),
        }?;
        let (width, height) = source.dimensions;
        check_pixels(u64::from(width) * u64::from(height), max_pixels)?;
        if let Kind::Gif(info) = &source.kind {
            check_pixels(info.frame_pixels(), max_pixels)?;
        }
        Ok(source)
    }

    /// The reduction at which the longest side has still `wanted` pixels, and twice that many where squares are averaged: the last step
    /// down is the filter's.
    pub(crate) fn reduction(&self, wanted: u32) -> Reduction {
        let longest = self.dimensions.0.max(self.dimensions.1);
        let scale = match self.kind {
            Kind::Jpeg(_) => jpeg::Scale::for_side(longest, wanted),
            _ => jpeg::Scale::Full,
        };
        let factor = (scale.of(longest) / wanted.saturating_mul(2).max(1)).clamp(1, Canvas::MAX_FACTOR);
        Reduction { scale, factor }
    }

    /// Width and height after the reduction.
    pub(crate) fn reduced(&self, reduction: Reduction) -> (u32, u32) {
        let side = |side: u32| reduction.scale.of(side).div_ceil(reduction.factor);
        (side(self.dimensions.0), side(self.dimensions.1))
    }

    /// Most bytes that decoding takes beside the original's own, its result included.
    pub(crate) fn decoding_bytes(&self, reduction: Reduction) -> u64 {
        let scaled = (reduction.scale.of(self.dimensions.0), reduction.scale.of(self.dimensions.1));
        let canvas = Canvas::bytes(scaled, self.layout, reduction.factor);
        let pixels = u64::from(self.dimensions.0) * u64::from(self.dimensions.1);
        let decoder = match &self.kind {
            Kind::Jpeg(header) => header.decoding_bytes(reduction.scale),
            Kind::Png(info) => info.decoding_bytes(),
            Kind::Webp => webp::decoding_bytes(pixels, self.layout),
            Kind::Gif(info) => info.decoding_bytes(self.dimensions),
        };
        canvas + decoder
    }

    /// Decodes the pixels.
    ///
    /// # Errors
    /// When they end early or break their format's rules, or the work was called off.
    pub(crate) fn decode(&self, bytes: &[u8], reduction: Reduction, cancel: &Cancel) -> Result<Reduced, PictureError> {
        match &self.kind {
            Kind::Jpeg(header) => jpeg::decode(bytes, header, reduction, cancel),
            Kind::Png(_) => png::decode(bytes, self, reduction.factor, cancel),
            Kind::Webp => webp::decode(bytes, self, reduction.factor, cancel),
            Kind::Gif(_) => gif::decode(bytes, self, reduction.factor, cancel),
        }
    }
}

fn check_pixels(pixels: u64, limit: u64) -> Result<(), PictureError> {
    if pixels > limit { Err(PictureError::TooManyPixels { pixels, limit }) } else { Ok(()) }
}
