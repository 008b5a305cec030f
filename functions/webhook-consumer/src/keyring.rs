//! The secret as it is held between invocations: read anew every few minutes, so that an exchange needs no deployment.

use std::sync::Arc;
use std::time::Duration;

use ikkai::clock::{Clock, EpochMillis};
use tokio::sync::Mutex;

use crate::secret::{SecretError, SecretSource, SigningSecret};

/// How long a secret is used without asking again.
const FRESH_FOR: Duration = Duration::from_secs(5 * 60);

/// How long it is used at most while it cannot be read again. A secret that was exchanged because it leaked must not live on in a sandbox.
const KEPT_FOR: Duration = Duration::from_secs(60 * 60);

/// Time between two tries to read it.
const ASK_AGAIN_AFTER: Duration = Duration::from_secs(30);

/// Longest time that a delivery waits for the secret.
const PATIENCE: Duration = Duration::from_secs(3);

/// Hands out the signing secret.
pub struct Keyring {
    source: Arc<dyn SecretSource>,
    clock: Arc<dyn Clock>,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    secret: Option<(Arc<SigningSecret>, EpochMillis)>,
    last_try: Option<(SecretError, EpochMillis)>,
}

impl std::fmt::Debug for Keyring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keyring").finish_non_exhaustive()
    }
}

impl Keyring {
    /// A keyring that holds nothing yet.
    #[must_use]
    pub fn new(source: Arc<dyn SecretSource>, clock: Arc<dyn Clock>) -> Self {
        Self { source, clock, held: Mutex::default() }
    }

    /// Reads the secret while the function starts. If that fails the first delivery tries again.
    pub async fn warm_up(&self) {
        if let Err(error) = self.secret().await {
            tracing::warn!(error_code = error.code(), error = %error, "signing secret not read");
        }
    }

    /// The secret. Deliveries that ask at the same time wait for one answer.
    ///
    /// # Errors
    /// When it cannot be read, and the one that was read before is none or too old.
    pub async fn secret(&self) -> Result<Arc<SigningSecret>, SecretError> {
        let mut held = self.held.lock().await;
        let now = self.clock.now();
        let usable =
            |age: Duration| held.secret.as_ref().filter(|(_, read)| now.since(*read) < age).map(|(secret, _)| secret.clone());
        if let Some(fresh) = usable(FRESH_FOR) {
            return Ok(fresh);
        }
        let kept = usable(KEPT_FOR);
        if let Some((error, at)) = &held.last_try
            && now.since(*at) < ASK_AGAIN_AFTER
        {
            return kept.ok_or_else(|| error.clone());
        }
        let fetched = tokio::time::timeout(PATIENCE, self.source.fetch()).await;
        match fetched.unwrap_or_else(|_| Err(SecretError::Unreachable { code: "timed out".to_owned() })) {
            Ok(secret) => {
                let secret = Arc::new(secret);
                *held = Held { secret: Some((secret.clone(), now)), last_try: None };
                Ok(secret)
            }
            Err(error) => {
                held.last_try = Some((error.clone(), now));
                kept.ok_or(error)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use async_trait::async_trait;
    use ikkai::clock::ManualClock;
    use secrecy::ExposeSecret as _;

    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    /// Answers by a script, then hangs.
    struct Script(std::sync::Mutex<VecDeque<Result<&'static str, SecretError>>>);

    #[async_trait]
    impl SecretSource for Script {
        async fn fetch(&self) -> Result<SigningSecret, SecretError> {
            let next = self.0.lock().unwrap().pop_front();
            match next {
                Some(answer) => answer.and_then(|secret| SigningSecret::parse(&format!(r#"{{"current":"{secret}"}}"#))),
                None => std::future::pending().await,
            }
        }
    }

    fn down() -> SecretError {
        SecretError::Unavailable { code: "InternalServiceError".to_owned() }
    }

    fn keyring(script: impl IntoIterator<Item = Result<&'static str, SecretError>>) -> (Keyring, ManualClock) {
        let clock = ManualClock::new(EpochMillis::from_i64(1_800_000_000_000));
        let source = Script(std::sync::Mutex::new(script.into_iter().collect()));
        (Keyring::new(Arc::new(source), Arc::new(clock.clone())), clock)
    }

    async fn current(keyring: &Keyring) -> Result<String, SecretError> {
        let secret = keyring.secret().await?;
        Ok(secret.all().next().unwrap().expose_secret().to_owned())
    }

    const OLD: &str = "old-old-old-old-old";
    const NEW: &str = "new-new-new-new-new";

    #[tokio::test]
    async fn an_exchanged_secret_is_used_after_five_minutes() {
        let (keyring, clock) = keyring([Ok(OLD), Ok(NEW)]);
        keyring.warm_up().await;
        clock.advance(FRESH_FOR - Duration::from_millis(1));
        assert_eq!(current(&keyring).await.as_deref(), Ok(OLD));
        clock.advance(Duration::from_millis(1));
        assert_eq!(current(&keyring).await.as_deref(), Ok(NEW));
    }

    #[tokio::test]
    async fn while_it_cannot_be_read_the_old_one_serves_for_an_hour_and_no_longer() {
        let (keyring, clock) = keyring([Ok(OLD), Err(down()), Err(SecretError::Malformed), Err(down()), Ok(NEW)]);
        current(&keyring).await.unwrap();
        for minutes in [6, 30] {
            clock.advance(MINUTE * minutes);
            assert_eq!(current(&keyring).await.as_deref(), Ok(OLD));
        }
        clock.advance(MINUTE * 24);
        assert_eq!(current(&keyring).await, Err(down()));
        assert_eq!(current(&keyring).await, Err(down()), "and is not asked for again at once");
        clock.advance(ASK_AGAIN_AFTER);
        assert_eq!(current(&keyring).await.as_deref(), Ok(NEW));
    }

    #[tokio::test(start_paused = true)]
    async fn a_source_that_hangs_costs_a_delivery_three_seconds() {
        let (keyring, _) = keyring([]);
        let started = tokio::time::Instant::now();
        assert_eq!(current(&keyring).await, Err(SecretError::Unreachable { code: "timed out".to_owned() }));
        assert_eq!(started.elapsed(), PATIENCE);
    }
}
