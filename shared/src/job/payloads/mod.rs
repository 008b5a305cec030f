//! The payload types of the jobs that Ikkai ships with, one a file.

mod email_send;
mod reference_id;

pub use email_send::EmailSend;
pub use reference_id::{MAX_REFERENCE_ID_CHARS, ReferenceId, ReferenceIdError};

pub(crate) use reference_id::REFERENCE_ID_FORMAT;
