//! Who a user is to be mailed as: the seam to the contacts table, and a double for tests.

mod dynamodb;
mod memory;

use std::{collections::BTreeMap, fmt};

use async_trait::async_trait;

pub use self::{dynamodb::DynamoDbContacts, memory::MemoryContacts};
use crate::address::{DisplayName, EmailAddress};

/// Finds contacts.
#[async_trait]
pub trait Contacts: Send + Sync {
    /// The contact of a user, or `None` for a user that there is not.
    ///
    /// # Errors
    /// When the table cannot be read now, or holds something that is no contact.
    async fn find(&self, user_id: &str) -> Result<Option<Contact>, ContactsError>;
}

/// A user, as far as mail goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contact {
    /// Must not be mailed: unsubscribed, bounced or complained. Says nothing of an address, which may have been erased.
    Suppressed,
    /// Can be mailed.
    Reachable(Recipient),
}

/// Where and how to mail a user.
#[derive(Clone, PartialEq, Eq)]
pub struct Recipient {
    /// The address.
    pub address: EmailAddress,
    /// The name shown beside it.
    pub display_name: Option<DisplayName>,
    /// The language wanted, a BCP 47 tag.
    pub locale: Option<String>,
    /// Values for templates.
    pub variables: BTreeMap<String, String>,
}

/// Shows nothing: all of it is personal.
impl fmt::Debug for Recipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Recipient(redacted)")
    }
}

/// Why a contact could not be had. Never holds a value of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ContactsError {
    /// The function may not read the table, or the table is not the one that it should be. Only an operator can change that.
    #[error(
        "the contacts table cannot be read as it is set up ({code}): mend its name, its key or the function's role, its mails wait"
    )]
    NotReady {
        /// Stable name of the cause.
        code: &'static str,
    },
    /// The table cannot be read at present: it throttles, fails or does not answer. Another try may succeed.
    #[error("the contacts table cannot be read ({code})")]
    Unavailable {
        /// Stable name of the cause.
        code: &'static str,
    },
    /// The item is no contact; it stays so until somebody mends it.
    #[error("the contact's attribute {attribute:?} is not usable: {problem}")]
    Malformed {
        /// The attribute.
        attribute: String,
        /// What is wrong with it.
        problem: String,
    },
}

impl ContactsError {
    /// A stable name of the cause for records, metrics and alarms.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotReady { code } | Self::Unavailable { code } => code,
            Self::Malformed { .. } => "contact_malformed",
        }
    }
}
