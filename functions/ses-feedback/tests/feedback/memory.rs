//! Tables in memory that fail, change and lose answers as a test says.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard};

use async_trait::async_trait;
use ikkai::job::JobId;
use ses_feedback::{Contact, Suppression, TableError, Tables, Written};

/// What happens to one write.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fate {
    /// It is lost on its way there.
    Lost,
    /// It is done, and the answer is lost.
    AnswerLost,
    /// Somebody gives the contact another address right before it.
    AddressChanges(&'static str),
    /// Somebody writes the same address in another spelling right before it.
    Respelled,
}

#[derive(Debug, Default)]
pub(crate) struct MemoryTables(Mutex<Held>);

#[derive(Debug, Default)]
pub(crate) struct Held {
    pub(crate) jobs: BTreeMap<String, String>,
    pub(crate) contacts: BTreeMap<String, Contact>,
    pub(crate) marks: Vec<(String, Suppression)>,
    pub(crate) fates: VecDeque<Fate>,
    pub(crate) down: bool,
}

impl MemoryTables {
    /// Jane's mail and her contact.
    pub(crate) fn with_jane(job_id: &str) -> Self {
        let tables = Self::default();
        tables.held().jobs.insert(job_id.to_owned(), "user-1".to_owned());
        tables.put("user-1", "jane@example.com");
        tables
    }

    pub(crate) fn put(&self, user_id: &str, address: &str) {
        let contact = Contact { address: Some(address.to_owned()), ..Contact::default() };
        self.held().contacts.insert(user_id.to_owned(), contact);
    }

    pub(crate) fn held(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap()
    }

    pub(crate) fn is_suppressed(&self, user_id: &str) -> bool {
        self.held().contacts[user_id].suppressed
    }
}

fn down(operation: &'static str) -> TableError {
    TableError::Unavailable { operation, table: "contacts", code: "ThrottlingException".to_owned() }
}

#[async_trait]
impl Tables for MemoryTables {
    async fn mailed_user(&self, job_id: &JobId) -> Result<Option<String>, TableError> {
        Ok(self.held().jobs.get(job_id.as_str()).cloned())
    }

    async fn contact(&self, user_id: &str) -> Result<Option<Contact>, TableError> {
        let held = self.held();
        if held.down { Err(down("GetItem")) } else { Ok(held.contacts.get(user_id).cloned()) }
    }

    async fn suppress(&self, user_id: &str, address: &str, mark: &Suppression) -> Result<Written, TableError> {
        let mut held = self.held();
        let fate = held.fates.pop_front();
        if matches!(fate, Some(Fate::Lost)) {
            return Err(down("UpdateItem"));
        }
        let Some(contact) = held.contacts.get_mut(user_id) else { return Ok(Written::Changed) };
        match fate {
            Some(Fate::AddressChanges(other)) => contact.address = Some(other.to_owned()),
            Some(Fate::Respelled) => contact.address = contact.address.as_ref().map(|address| swap_case(address)),
            _ => {}
        }
        if contact.address.as_deref() != Some(address) || contact.marked_by.as_ref() == Some(&mark.report) {
            return Ok(Written::Changed);
        }
        contact.suppressed = true;
        contact.marked_by = Some(mark.report.clone());
        held.marks.push((user_id.to_owned(), mark.clone()));
        if matches!(fate, Some(Fate::AnswerLost)) { Err(down("UpdateItem")) } else { Ok(Written::Yes) }
    }
}

fn swap_case(text: &str) -> String {
    let upper = text.chars().any(char::is_lowercase);
    if upper { text.to_uppercase() } else { text.to_lowercase() }
}
