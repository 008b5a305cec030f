//! The e-mail consumer: each `email.send` job becomes one mail, sent through Amazon SES.

mod address;
mod header;
mod message;
mod templates;

pub use self::{
    address::{AddressError, DisplayName, DisplayNameError, EmailAddress, Mailbox, MailboxError},
    message::Mail,
    templates::{
        BUILT_IN, DEFAULT_LOCALE, LinkProblem, Rendered, TemplateError, TemplateSetError, TemplateSource, Templates, Variable,
    },
};
