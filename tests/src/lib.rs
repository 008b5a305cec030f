//! What the end-to-end, template and process tests share.

pub mod localstack;
pub mod runtime_api;
pub mod template;
