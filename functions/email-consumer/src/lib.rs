//! The e-mail consumer: each `email.send` job becomes one mail, sent through Amazon SES.

mod address;
mod contacts;
mod handler;
mod header;
mod job_data;
mod mailer;
mod member_path;
mod message;
mod settings;
mod templates;

pub use self::{
    address::{AddressError, DisplayName, DisplayNameError, EmailAddress, Mailbox, MailboxError},
    contacts::{Contact, Contacts, ContactsError, DynamoDbContacts, MemoryContacts, Recipient},
    handler::EmailHandler,
    mailer::{Mailer, MessageId, RecordingMailer, SendError, SesMailer, SesSettings},
    message::Mail,
    settings::EmailSettings,
    templates::{
        BUILT_IN, DEFAULT_LOCALE, LinkProblem, Rendered, TemplateError, TemplateSetError, TemplateSource, Templates, Variable,
    },
};
