//! What the end-to-end, template and process tests share.

pub mod runtime_api;
pub mod template;
