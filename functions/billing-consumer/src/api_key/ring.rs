//! Hands out the key, and fetches it anew when the provider no longer accepts it.

use std::{sync::Arc, time::Duration};

use tokio::{sync::Mutex, time::Instant};

use super::{ApiKey, ApiKeyError, ApiKeySource};

/// The source is asked at most this often for a key that is missing or refused: a wrong key must not become a flood of reads.
const REFETCH_INTERVAL: Duration = Duration::from_secs(30);

/// The key of this sandbox, shared by all its jobs.
pub struct ApiKeyRing {
    source: Arc<dyn ApiKeySource>,
    held: Mutex<Held>,
}

struct Held {
    key: Result<ApiKey, ApiKeyError>,
    /// When the source was asked for the last time because the key was missing or refused.
    refetched_at: Option<Instant>,
}

impl std::fmt::Debug for ApiKeyRing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApiKeyRing").finish_non_exhaustive()
    }
}

impl ApiKeyRing {
    /// A ring without a key yet.
    #[must_use]
    pub fn new(source: Arc<dyn ApiKeySource>) -> Self {
        let key = Err(ApiKeyError::Unreadable { code: "not_fetched".to_owned() });
        Self { source, held: Mutex::new(Held { key, refetched_at: None }) }
    }

    /// Fetches the key while the function starts. Without it the function starts all the same: its jobs wait, and the log says why.
    pub async fn fetch_at_start(&self) {
        let mut held = self.held.lock().await;
        held.key = self.source.fetch().await;
        if let Err(error) = &held.key {
            tracing::error!(%error, "no API key");
        }
    }

    /// The key.
    ///
    /// # Errors
    /// There is none. The source is asked again, but not at once.
    pub async fn current(&self) -> Result<ApiKey, ApiKeyError> {
        let mut held = self.held.lock().await;
        if held.key.is_err() && held.may_ask() {
            held.key = self.source.fetch().await;
        }
        held.key.clone()
    }

    /// A newer key than `refused`, if there is one. Jobs that were refused at the same time ask the source once.
    pub async fn renewed(&self, refused: &ApiKey) -> Option<ApiKey> {
        let mut held = self.held.lock().await;
        if let Ok(key) = &held.key
            && key.is_same(refused)
            && held.may_ask()
        {
            // A source that fails now does not take the key away: it may be accepted again.
            match self.source.fetch().await {
                Ok(key) => held.key = Ok(key),
                Err(error) => tracing::error!(%error, "no newer API key"),
            }
        }
        held.key.clone().ok().filter(|key| !key.is_same(refused))
    }
}

impl Held {
    fn may_ask(&mut self) -> bool {
        let now = Instant::now();
        let may = self.refetched_at.is_none_or(|last| now.duration_since(last) >= REFETCH_INTERVAL);
        if may {
            self.refetched_at = Some(now);
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use async_trait::async_trait;

    use super::*;

    /// Answers by a list, the last one for ever, and counts.
    struct Listed {
        keys: Vec<Option<&'static str>>,
        asked: AtomicUsize,
    }

    impl Listed {
        fn new(keys: &[Option<&'static str>]) -> Arc<Self> {
            Arc::new(Self { keys: keys.to_vec(), asked: AtomicUsize::new(0) })
        }

        fn asked(&self) -> usize {
            self.asked.load(Ordering::Acquire)
        }
    }

    #[async_trait]
    impl ApiKeySource for Listed {
        async fn fetch(&self) -> Result<ApiKey, ApiKeyError> {
            let index = self.asked.fetch_add(1, Ordering::AcqRel).min(self.keys.len() - 1);
            tokio::task::yield_now().await;
            self.keys[index].map_or(Err(ApiKeyError::NotAKey), ApiKey::parse)
        }
    }

    fn key(text: &str) -> ApiKey {
        ApiKey::parse(text).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn parallel_jobs_that_were_refused_fetch_the_newer_key_once() {
        let source = Listed::new(&[Some("old"), Some("new")]);
        let ring = ApiKeyRing::new(source.clone());
        ring.fetch_at_start().await;
        let old = key("old");
        let renewed = tokio::join!(ring.renewed(&old), ring.renewed(&old), ring.renewed(&old));
        for key in [renewed.0, renewed.1, renewed.2] {
            assert!(key.unwrap().is_same(&self::key("new")));
        }
        assert_eq!(source.asked(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_that_stays_refused_is_not_fetched_again_and_again() {
        let source = Listed::new(&[Some("old"), Some("old"), Some("new")]);
        let ring = ApiKeyRing::new(source.clone());
        ring.fetch_at_start().await;
        for _ in 0..5 {
            assert!(ring.renewed(&key("old")).await.is_none());
        }
        assert_eq!(source.asked(), 2);
        tokio::time::advance(REFETCH_INTERVAL).await;
        assert!(ring.renewed(&key("old")).await.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_that_is_missing_at_the_start_is_found_later() {
        let source = Listed::new(&[None, None, Some("key")]);
        let ring = ApiKeyRing::new(source.clone());
        ring.fetch_at_start().await;
        assert!(ring.current().await.is_err(), "asked again, still none");
        assert!(ring.current().await.is_err(), "not asked");
        assert_eq!(source.asked(), 2);
        tokio::time::advance(REFETCH_INTERVAL).await;
        assert!(ring.current().await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_source_that_fails_does_not_take_the_key_away() {
        let source = Listed::new(&[Some("old"), None]);
        let ring = ApiKeyRing::new(source);
        ring.fetch_at_start().await;
        assert!(ring.renewed(&key("old")).await.is_none());
        assert!(ring.current().await.is_ok());
    }
}
