//! Contacts in memory, for tests.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;

use super::{Contact, Contacts, ContactsError};

/// Holds contacts by user id, and fails on demand.
#[derive(Debug, Default)]
pub struct MemoryContacts(Mutex<Held>);

#[derive(Debug, Default)]
struct Held {
    by_user: BTreeMap<String, Contact>,
    failure: Option<ContactsError>,
}

impl MemoryContacts {
    /// No contacts yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds or replaces a contact.
    pub fn put(&self, user_id: &str, contact: Contact) {
        self.lock().by_user.insert(user_id.to_owned(), contact);
    }

    /// Makes every lookup fail, or none again.
    pub fn fail_with(&self, failure: Option<ContactsError>) {
        self.lock().failure = failure;
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Contacts for MemoryContacts {
    async fn find(&self, user_id: &str) -> Result<Option<Contact>, ContactsError> {
        let held = self.lock();
        match &held.failure {
            Some(failure) => Err(failure.clone()),
            None => Ok(held.by_user.get(user_id).cloned()),
        }
    }
}
