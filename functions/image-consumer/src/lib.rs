//! Ikkai's image consumer: the sizes and formats of one picture for each image.resize job, in S3.
mod cancel;
mod jpeg;
mod picture_error;
pub use self::{cancel::Cancel, picture_error::PictureError};
