//! The e-mail consumer: each `email.send` job becomes one mail, sent through Amazon SES.

mod address;
mod contacts;
mod header;
mod mailer;
mod message;
mod templates;

pub use self::{
    address::{AddressError, DisplayName, DisplayNameError, EmailAddress, Mailbox, MailboxError},
    contacts::{Contact, Contacts, ContactsError, DynamoDbContacts, MemoryContacts, Recipient},
    mailer::{Mailer, MessageId, RecordingMailer, SendError, SesMailer, SesSettings},
    message::Mail,
    templates::{
        BUILT_IN, DEFAULT_LOCALE, LinkProblem, Rendered, TemplateError, TemplateSetError, TemplateSource, Templates, Variable,
    },
};
