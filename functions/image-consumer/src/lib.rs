//! Ikkai's image consumer: the sizes and formats of one picture for each image.resize job, in S3.

mod cancel;
mod encode;
mod jpeg;
mod orientation;
mod picture;
mod picture_error;
mod profile;
mod recognise;
mod render;
mod resize;
mod source;

pub use self::{
    cancel::{Cancel, CancelOnDrop},
    encode::Encoding,
    picture_error::PictureError,
    render::{Output, RenderSettings, Rendering},
};
