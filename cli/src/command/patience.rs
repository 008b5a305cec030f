//! Repeats what the API puts off for a moment, as every client should.

use std::time::Duration;

/// Longest time that a command waits in all. A person at a terminal wants an answer.
const LONGEST: Duration = Duration::from_secs(10);

/// Most repetitions, whatever the API says about the time.
const MOST: u32 = 20;

/// How much waiting a command has left.
#[derive(Debug)]
pub(super) struct Patience {
    time: Duration,
    repetitions: u32,
}

impl Patience {
    /// All of it.
    pub(super) const fn new() -> Self {
        Self { time: LONGEST, repetitions: MOST }
    }

    /// Waits for as long as an answer asks for (`retry_after` seconds), if it is one that passes and there is patience left. `true`: repeat the
    /// request.
    pub(super) async fn waits_out(&mut self, status: u16, retry_after: Option<u64>) -> bool {
        let wait = retry_after.filter(|_| passes(status)).map(Duration::from_secs);
        let Some((time, repetitions)) =
            wait.and_then(|wait| Some((self.time.checked_sub(wait)?, self.repetitions.checked_sub(1)?)))
        else {
            return false;
        };
        tokio::time::sleep(self.time - time).await;
        (self.time, self.repetitions) = (time, repetitions);
        true
    }
}

/// Whether an answer of this status may be another one in a moment.
const fn passes(status: u16) -> bool {
    matches!(status, 409 | 429 | 503)
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_passes_is_waited_out_for_some_seconds() {
        let (mut patience, begun) = (Patience::new(), Instant::now());
        for status in [409, 429, 503] {
            assert!(patience.waits_out(status, Some(3)).await);
        }
        assert!((9..10).contains(&begun.elapsed().as_secs()));
        assert!(!patience.waits_out(409, Some(3)).await, "no time left");
        assert!(patience.waits_out(409, Some(1)).await);
    }

    #[tokio::test(start_paused = true)]
    async fn other_answers_and_long_waits_are_taken_at_once() {
        let (mut patience, begun) = (Patience::new(), Instant::now());
        assert!(!patience.waits_out(422, Some(1)).await);
        assert!(!patience.waits_out(409, None).await);
        assert!(!patience.waits_out(429, Some(30)).await);
        assert!(begun.elapsed().is_zero());
    }

    #[tokio::test(start_paused = true)]
    async fn an_api_that_says_now_is_not_asked_for_ever() {
        let mut patience = Patience::new();
        for _ in 0..MOST {
            assert!(patience.waits_out(503, Some(0)).await);
        }
        assert!(!patience.waits_out(503, Some(0)).await);
    }
}
