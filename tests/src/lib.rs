//! What the end-to-end, template and process tests share.

pub use ikkai_runtime_api as runtime_api;
pub mod template;
