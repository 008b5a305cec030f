//! A mailer for tests that keeps what it was given.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;

use super::{Mailer, MessageId, SendError};
use crate::message::Mail;

/// Keeps every mail and answers by a script; when that is over, each mail is accepted as `recorded-1`, `recorded-2`, …
#[derive(Debug, Default)]
pub struct RecordingMailer(Mutex<Recording>);

#[derive(Debug, Default)]
struct Recording {
    mails: Vec<Mail>,
    script: VecDeque<Result<MessageId, SendError>>,
    accepted: usize,
}

impl RecordingMailer {
    /// A mailer that accepts everything.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an answer to the script.
    #[must_use]
    pub fn answering(self, answer: Result<MessageId, SendError>) -> Self {
        self.lock().script.push_back(answer);
        self
    }

    /// Every mail given so far, also those that were answered with an error.
    #[must_use]
    pub fn mails(&self) -> Vec<Mail> {
        self.lock().mails.clone()
    }

    /// How many mails were accepted.
    #[must_use]
    pub fn accepted(&self) -> usize {
        self.lock().accepted
    }

    fn lock(&self) -> MutexGuard<'_, Recording> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Mailer for RecordingMailer {
    async fn send(&self, mail: &Mail) -> Result<MessageId, SendError> {
        let mut recording = self.lock();
        recording.mails.push(mail.clone());
        let count = recording.mails.len();
        let answer = recording.script.pop_front().unwrap_or_else(|| Ok(MessageId::new(format!("recorded-{count}"))));
        recording.accepted += usize::from(answer.is_ok());
        answer
    }
}
