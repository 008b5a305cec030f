//! What must hold for whatever Ikkai is given.
//!
//! Each module is one kind of input with what has to be true of it: a plain function that panics where it is not. libFuzzer
//! (`libfuzzer/`) calls it with inputs of its invention, and `cargo test` with those that are kept in `corpus/`.
//!
//! | module | the input | what reads it |
//! |---|---|---|
//! | [`envelope`] | the body of a message, or of a post | `ikkai::job::Envelope`, and the producer API beside it |
//! | [`unwrapping`] | the body of a message from another service | `ikkai::consumer` |
//! | [`api`] | a Lambda event of any HTTP door | `producer_api::Api` |
//! | [`redrive_request`] | a request of an operator | `dlq_redrive::Workbench` |
//! | [`image_input`] | an original | `image_consumer::Rendering` |
//! | [`money`] | an amount and a currency | `ikkai::job::Money` |
//! | [`template`] | a template's name and variables | `email_consumer::Templates` |

pub mod api;
mod door;
pub mod envelope;
pub mod image_input;
pub mod json_mutation;
mod masking;
mod memory;
pub mod money;
mod pointing;
pub mod redrive_request;
mod stack;
pub mod template;
pub mod unwrapping;
mod waiting;

use json_mutation::Vocabulary;

/// A kind of input.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name: of the fuzzer, and of the folder in `corpus/`.
    pub name: &'static str,
    /// What has to hold for an input.
    pub check: fn(&[u8]),
    /// Words of inputs that are JSON.
    pub words: Option<&'static Vocabulary>,
}

/// All of them.
pub const TARGETS: [Target; 7] = [
    Target { name: "api", check: api::check, words: Some(&api::WORDS) },
    Target { name: "envelope", check: envelope::check, words: Some(&envelope::WORDS) },
    Target { name: "image_input", check: image_input::check, words: None },
    Target { name: "money", check: money::check, words: None },
    Target { name: "redrive_request", check: redrive_request::check, words: Some(&redrive_request::WORDS) },
    Target { name: "template", check: template::check, words: Some(&template::WORDS) },
    Target { name: "unwrapping", check: unwrapping::check, words: Some(&unwrapping::WORDS) },
];
