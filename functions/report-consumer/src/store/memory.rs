//! A store in memory, for tests.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    hash::{Hash as _, Hasher as _},
    sync::{Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;

use super::{Object, ObjectKind, ReportStore, ReportStoreError, UploadedPart};

/// A [`ReportStore`] in memory with the rules of the real one: parts of a least size, objects that appear when their upload is completed. It
/// counts its calls and the bytes of the largest one, and fails on demand.
#[derive(Debug)]
pub struct MemoryReportStore {
    least_part_bytes: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    objects: BTreeMap<String, Object>,
    uploads: HashMap<String, Upload>,
    calls: Vec<StoreCall>,
    faults: VecDeque<(usize, Fault)>,
    most_bytes: usize,
    begun: usize,
}

#[derive(Debug)]
struct Upload {
    key: String,
    kind: ObjectKind,
    parts: BTreeMap<i32, Vec<u8>>,
}

/// One call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreCall {
    /// An object written.
    Put,
    /// An object read.
    Get,
    /// An object removed.
    Delete,
    /// An upload begun.
    Begin,
    /// A part uploaded.
    Part,
    /// An upload completed.
    Complete,
    /// An upload given up.
    Abort,
}

/// How a call ends that does not end well.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Fault {
    /// Nothing is done and nobody ever answers.
    HangBefore,
    /// It is done and nobody ever answers.
    HangAfter,
    /// Nothing is done.
    Fail(ReportStoreError),
}

impl MemoryReportStore {
    /// An empty store whose uploads have parts of so many bytes at least.
    #[must_use]
    pub fn new(least_part_bytes: usize) -> Self {
        Self { least_part_bytes, state: Mutex::default() }
    }

    /// The call with this number, counted from zero from now on, is the last thing its worker does: it never gets an answer. `is_done` says
    /// whether the store does what was asked.
    pub fn hang_at(&self, call: usize, is_done: bool) {
        let mut state = self.locked();
        let number = state.calls.len() + call;
        state.faults.push_back((number, if is_done { Fault::HangAfter } else { Fault::HangBefore }));
    }

    /// The call with this number, counted from zero from now on, is not done and gets no answer that can be used.
    pub fn fail_at(&self, call: usize) {
        self.fail_with(call, ReportStoreError::Unavailable { operation: "a test", code: "no answer".to_owned() });
    }

    /// The call with this number, counted from zero from now on, is not done and fails so.
    pub fn fail_with(&self, call: usize, error: ReportStoreError) {
        let mut state = self.locked();
        let number = state.calls.len() + call;
        state.faults.push_back((number, Fault::Fail(error)));
    }

    /// An object's bytes.
    #[must_use]
    pub fn bytes(&self, key: &str) -> Option<Vec<u8>> {
        self.locked().objects.get(key).map(|object| object.body.clone())
    }

    /// An object's kind.
    #[must_use]
    pub fn kind(&self, key: &str) -> Option<ObjectKind> {
        self.locked().objects.get(key).map(|object| object.kind.clone())
    }

    /// The keys of all objects.
    #[must_use]
    pub fn keys(&self) -> Vec<String> {
        self.locked().objects.keys().cloned().collect()
    }

    /// Removes everything under a prefix, and all uploads, as lifecycle rules do.
    pub fn expire(&self, prefix: &str) {
        let mut state = self.locked();
        state.objects.retain(|key, _| !key.starts_with(prefix));
        state.uploads.clear();
    }

    /// Removes all uploads.
    pub fn expire_uploads(&self) {
        self.locked().uploads.clear();
    }

    /// How many uploads are neither completed nor given up.
    #[must_use]
    pub fn open_uploads(&self) -> usize {
        self.locked().uploads.len()
    }

    /// Every call so far.
    #[must_use]
    pub fn calls(&self) -> Vec<StoreCall> {
        self.locked().calls.clone()
    }

    /// The bytes of the largest call so far.
    #[must_use]
    pub fn most_bytes(&self) -> usize {
        self.locked().most_bytes
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn play<T>(
        &self,
        call: StoreCall,
        act: impl FnOnce(&mut State) -> Result<T, ReportStoreError>,
    ) -> Result<T, ReportStoreError> {
        let (fault, done) = {
            let mut state = self.locked();
            let number = state.calls.len();
            state.calls.push(call);
            let position = state.faults.iter().position(|(wanted, _)| *wanted == number);
            let fault = position.and_then(|position| state.faults.remove(position)).map(|(_, fault)| fault);
            let done = (!matches!(fault, Some(Fault::HangBefore | Fault::Fail(_)))).then(|| act(&mut state));
            (fault, done)
        };
        match (fault, done) {
            (None, Some(done)) => done,
            (Some(Fault::Fail(error)), _) => Err(error),
            _ => std::future::pending().await,
        }
    }
}

#[async_trait]
impl ReportStore for MemoryReportStore {
    fn least_part_bytes(&self) -> usize {
        self.least_part_bytes
    }

    async fn put(&self, object: Object) -> Result<(), ReportStoreError> {
        self.play(StoreCall::Put, |state| {
            state.most_bytes = state.most_bytes.max(object.body.len());
            state.objects.insert(object.key.clone(), object);
            Ok(())
        })
        .await
    }

    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, ReportStoreError> {
        self.play(StoreCall::Get, |state| Ok(state.objects.get(key).map(|object| object.body.clone()))).await
    }

    async fn delete(&self, key: &str) -> Result<(), ReportStoreError> {
        self.play(StoreCall::Delete, |state| {
            state.objects.remove(key);
            Ok(())
        })
        .await
    }

    async fn begin_upload(&self, key: &str, kind: &ObjectKind) -> Result<String, ReportStoreError> {
        self.play(StoreCall::Begin, |state| {
            state.begun += 1;
            let name = format!("upload-{}", state.begun);
            let upload = Upload { key: key.to_owned(), kind: kind.clone(), parts: BTreeMap::new() };
            state.uploads.insert(name.clone(), upload);
            Ok(name)
        })
        .await
    }

    async fn upload_part(&self, key: &str, upload: &str, number: i32, body: Vec<u8>) -> Result<UploadedPart, ReportStoreError> {
        self.play(StoreCall::Part, |state| {
            state.most_bytes = state.most_bytes.max(body.len());
            let open = state.uploads.get_mut(upload).filter(|open| open.key == key).ok_or(ReportStoreError::UploadGone)?;
            let etag = etag(&body);
            open.parts.insert(number, body);
            Ok(UploadedPart { number, etag, crc32: None })
        })
        .await
    }

    async fn complete_upload(&self, key: &str, upload: &str, parts: &[UploadedPart]) -> Result<(), ReportStoreError> {
        self.play(StoreCall::Complete, |state| {
            let open = state.uploads.get(upload).filter(|open| open.key == key).ok_or(ReportStoreError::UploadGone)?;
            let mut body = Vec::new();
            for (index, part) in parts.iter().enumerate() {
                let taken = open.parts.get(&part.number).filter(|taken| etag(taken) == part.etag);
                let taken = taken.ok_or(ReportStoreError::UploadGone)?;
                let is_last = index + 1 == parts.len();
                if !is_last && taken.len() < self.least_part_bytes {
                    let code = "EntityTooSmall".to_owned();
                    return Err(ReportStoreError::Unavailable { operation: "CompleteMultipartUpload", code });
                }
                body.extend_from_slice(taken);
            }
            let kind = open.kind.clone();
            state.uploads.remove(upload);
            state.objects.insert(key.to_owned(), Object { key: key.to_owned(), kind, body });
            Ok(())
        })
        .await
    }

    async fn abort_upload(&self, _key: &str, upload: &str) -> Result<(), ReportStoreError> {
        self.play(StoreCall::Abort, |state| {
            state.uploads.remove(upload);
            Ok(())
        })
        .await
    }
}

fn etag(body: &[u8]) -> String {
    let mut hasher = std::hash::DefaultHasher::new();
    body.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
