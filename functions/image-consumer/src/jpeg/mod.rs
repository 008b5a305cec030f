//! Baseline and progressive JPEG (ITU-T T.81), decoded at a reduced scale and encoded with halved chroma.
//!
//! A decoder of our own, because a consumer of other people's uploads needs four things at once: blocks that are reconstructed at 1/2, 1/4
//! or 1/8 of their size, so that a thumbnail of a large photograph costs a fraction of it; rows that are handed out as they come, so that
//! memory does not grow with the picture; an error, and not half a picture in grey, when the data end early; and a place between rows
//! where the work can be called off. No code here is `unsafe`, and every loop is bounded by the frame's size.
//!
//! ```text
//! header ──▶ scan (entropy) ──▶ inverse DCT at the scale ──▶ band of samples ──▶ rows in RGB
//! ```
//!
//! Arithmetic is in `f32` without fused operations: the same input gives the same bytes on every machine.

mod band;
mod bits;
mod color;
mod decoder;
mod encoder;
mod forward_dct;
mod frame;
mod header;
mod huffman;
mod inverse_dct;
mod scan;
mod standard_tables;

pub(crate) use self::{
    decoder::decode,
    encoder::{encode, encoder_bytes},
    frame::Scale,
    header::{Header, read_header},
};

use crate::picture_error::PictureError;

/// From the position in a block's zigzag order to its row and column, row by row (T.81, figure A.6).
const ZIGZAG: [u8; 64] = [
    0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21, 28, 35, 42,
    49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
];

fn truncated() -> PictureError {
    PictureError::Truncated { format: "JPEG" }
}

fn malformed(what: &'static str) -> PictureError {
    PictureError::Malformed { format: "JPEG", what }
}

#[cfg(test)]
mod tests;
