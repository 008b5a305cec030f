//! A history in memory, for tests.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use ikkai::clock::EpochMillis;

use super::{HistoryError, HistoryPage, JobHistory, JobRow, Position, Scope};

/// A [`JobHistory`] in memory that counts its pages and fails on demand.
#[derive(Debug)]
pub struct MemoryHistory {
    rows: BTreeMap<(String, EpochMillis, String), JobRow>,
    rows_a_page: usize,
    time_a_page: Duration,
    pages: AtomicUsize,
    /// What the next pages come to.
    fates: Mutex<VecDeque<Fate>>,
}

/// What a page comes to.
#[derive(Debug)]
enum Fate {
    Passes,
    Fails(HistoryError),
    Hangs,
}

impl MemoryHistory {
    /// An account's jobs, handed out so many at a time.
    pub fn new(account_id: &str, rows: impl IntoIterator<Item = JobRow>, rows_a_page: usize) -> Self {
        let keyed = rows.into_iter().map(|row| ((account_id.to_owned(), row.created_at, row.job_id.clone()), row));
        Self {
            rows: keyed.collect(),
            rows_a_page,
            time_a_page: Duration::ZERO,
            pages: AtomicUsize::new(0),
            fates: Mutex::default(),
        }
    }

    /// Every page takes this long, on tokio's clock.
    #[must_use]
    pub fn taking(mut self, time_a_page: Duration) -> Self {
        self.time_a_page = time_a_page;
        self
    }

    /// So many pages pass, then one fails so.
    pub fn fail_next_but(&self, pages: usize, error: HistoryError) {
        self.fates().extend((0..pages).map(|_| Fate::Passes).chain([Fate::Fails(error)]));
    }

    /// So many pages pass, then nobody ever hands one out.
    pub fn hang_after(&self, pages: usize) {
        self.fates().extend((0..pages).map(|_| Fate::Passes).chain([Fate::Hangs]));
    }

    /// How many pages were handed out.
    #[must_use]
    pub fn pages(&self) -> usize {
        self.pages.load(Ordering::Relaxed)
    }

    fn fates(&self) -> MutexGuard<'_, VecDeque<Fate>> {
        self.fates.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl JobHistory for MemoryHistory {
    async fn page(&self, scope: &Scope, after: Option<&Position>) -> Result<HistoryPage, HistoryError> {
        if !self.time_a_page.is_zero() {
            tokio::time::sleep(self.time_a_page).await;
        }
        let fate = self.fates().pop_front();
        match fate {
            None | Some(Fate::Passes) => {}
            Some(Fate::Fails(error)) => return Err(error),
            Some(Fate::Hangs) => std::future::pending().await,
        }
        self.pages.fetch_add(1, Ordering::Relaxed);
        let Some((first, last)) = scope.bounds() else { return Ok(HistoryPage { rows: Vec::new(), next: None }) };
        let key = |at: EpochMillis, job_id: &str| (scope.account_id.clone(), at, job_id.to_owned());
        let start = match after {
            Some(position) => std::ops::Bound::Excluded(key(position.created_at, &position.job_id)),
            None => std::ops::Bound::Included(key(first, "")),
        };
        let mut found = self
            .rows
            .range((start, std::ops::Bound::Unbounded))
            .take_while(|((account, at, _), _)| *account == scope.account_id && *at <= last)
            .map(|(_, row)| row);
        let rows: Vec<JobRow> = found.by_ref().take(self.rows_a_page).cloned().collect();
        // Like DynamoDB's: a full page may be followed by an empty one.
        let next = (rows.len() == self.rows_a_page).then(|| rows.last()).flatten();
        let next = next.map(|row| Position { created_at: row.created_at, job_id: row.job_id.clone() });
        Ok(HistoryPage { rows, next })
    }
}
