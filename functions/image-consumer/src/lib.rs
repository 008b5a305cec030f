//! Ikkai's image consumer: the sizes and formats of one picture for each `image.resize` job, in S3.
//!
//! [`ImageHandler`] is the way of a job, [`Rendering`] that of a picture.

mod cancel;
mod capacity;
mod encode;
mod handler;
mod notification;
mod objects;
mod orientation;
mod picture;
mod picture_error;
mod places;
mod profile;
mod recognise;
mod render;
mod resize;
mod settings;
mod source;
mod workshop;

pub use self::{
    cancel::{Cancel, CancelOnDrop},
    capacity::Capacity,
    encode::Encoding,
    handler::ImageHandler,
    notification::UploadRule,
    objects::{Download, MemoryObjects, NewObject, ObjectAddress, ObjectCall, ObjectError, Objects, S3Objects},
    picture_error::PictureError,
    places::Places,
    render::{Output, RenderSettings, Rendering},
    settings::ImageSettings,
};
