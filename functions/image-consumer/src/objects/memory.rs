//! A bucket in memory, for tests.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use bytes::Bytes;

use super::{Download, NewObject, ObjectAddress, ObjectError, Objects};

/// What was asked of the bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObjectCall {
    /// An object was opened, under this key and version.
    Open(String, Option<String>),
    /// An object was written under this key.
    Put(String),
}

/// Keeps objects, and answers by a script of errors as long as there is one.
#[derive(Debug, Default)]
pub struct MemoryObjects(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    originals: BTreeMap<(String, String, Option<String>), Bytes>,
    written: BTreeMap<String, NewObject>,
    calls: Vec<ObjectCall>,
    open_errors: VecDeque<ObjectError>,
    read_errors: VecDeque<ObjectError>,
    put_answers: VecDeque<PutAnswer>,
}

#[derive(Debug)]
enum PutAnswer {
    Refused(ObjectError),
    Lost(ObjectError),
}

impl MemoryObjects {
    /// An empty bucket.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts an original there, as its newest version.
    pub fn add(&self, bucket: &str, key: &str, bytes: impl Into<Bytes>) {
        self.lock().originals.insert((bucket.to_owned(), key.to_owned(), None), bytes.into());
    }

    /// Puts one version of an original there.
    pub fn add_version(&self, bucket: &str, key: &str, version: &str, bytes: impl Into<Bytes>) {
        self.lock().originals.insert((bucket.to_owned(), key.to_owned(), Some(version.to_owned())), bytes.into());
    }

    /// The next object that is opened is not.
    pub fn fail_open(&self, error: ObjectError) {
        self.lock().open_errors.push_back(error);
    }

    /// The next object that is opened breaks off while it is read.
    pub fn fail_read(&self, error: ObjectError) {
        self.lock().read_errors.push_back(error);
    }

    /// The next object is not written.
    pub fn fail_put(&self, error: ObjectError) {
        self.lock().put_answers.push_back(PutAnswer::Refused(error));
    }

    /// The next object is written, and the answer is lost.
    pub fn lose_put_answer(&self, error: ObjectError) {
        self.lock().put_answers.push_back(PutAnswer::Lost(error));
    }

    /// What was asked, in order.
    #[must_use]
    pub fn calls(&self) -> Vec<ObjectCall> {
        self.lock().calls.clone()
    }

    /// What was written, by key.
    #[must_use]
    pub fn written(&self) -> BTreeMap<String, NewObject> {
        self.lock().written.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Objects for MemoryObjects {
    async fn open(&self, at: &ObjectAddress) -> Result<Box<dyn Download>, ObjectError> {
        let mut state = self.lock();
        let version = at.version_id.as_ref().map(|version| version.as_str().to_owned());
        state.calls.push(ObjectCall::Open(at.key.clone(), version.clone()));
        if let Some(error) = state.open_errors.pop_front() {
            return Err(error);
        }
        let bytes = state.originals.get(&(at.bucket.clone(), at.key.clone(), version)).cloned();
        let bytes = bytes.ok_or(ObjectError::Gone { code: "original_not_found" })?;
        let answer = state.read_errors.pop_front().map_or(Ok(bytes.clone()), Err);
        Ok(Box::new(MemoryDownload { length: bytes.len() as u64, answer }))
    }

    async fn put(&self, object: NewObject) -> Result<(), ObjectError> {
        let mut state = self.lock();
        state.calls.push(ObjectCall::Put(object.key.clone()));
        match state.put_answers.pop_front() {
            Some(PutAnswer::Refused(error)) => return Err(error),
            Some(PutAnswer::Lost(error)) => {
                state.written.insert(object.key.clone(), object);
                return Err(error);
            }
            None => {}
        }
        state.written.insert(object.key.clone(), object);
        Ok(())
    }
}

struct MemoryDownload {
    length: u64,
    answer: Result<Bytes, ObjectError>,
}

#[async_trait]
impl Download for MemoryDownload {
    fn length(&self) -> u64 {
        self.length
    }

    async fn read(self: Box<Self>) -> Result<Bytes, ObjectError> {
        self.answer
    }
}
