//! What this sandbox saw going into the queue.
//!
//! A record does not say that its first send succeeded: that would cost a second write for every job. So for as long as the send lease lasts, an
//! identical request cannot know and is told to come back. The sandbox that sent the job knows better.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ikkai::clock::EpochMillis;

/// Sends that are remembered. Each takes about a hundred bytes.
const MOST: usize = 1_000;

/// The latest confirmed sends, by the token of the acceptance: a record that was made anew in the meantime has another one.
#[derive(Debug, Default)]
pub(crate) struct RecentSends(Mutex<VecDeque<(String, EpochMillis)>>);

impl RecentSends {
    /// The queue confirmed the message of this acceptance.
    pub(crate) fn remember(&self, token: String, at: EpochMillis) {
        let mut sends = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if sends.len() == MOST {
            sends.pop_front();
        }
        sends.push_back((token, at));
    }

    /// Whether that was seen less than `within` ago.
    pub(crate) fn has(&self, token: &str, now: EpochMillis, within: Duration) -> bool {
        let sends = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sends.iter().rev().any(|(sent, at)| sent == token && now >= *at && now.since(*at) < within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: EpochMillis = EpochMillis::from_i64(1_800_000_000_000);
    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn a_send_is_known_for_the_time_asked_for() {
        let sends = RecentSends::default();
        sends.remember("a".to_owned(), START);
        assert!(sends.has("a", START, MINUTE) && sends.has("a", START + Duration::from_secs(59), MINUTE));
        assert!(!sends.has("a", START + MINUTE, MINUTE) && !sends.has("b", START, MINUTE));
        assert!(!sends.has("a", START - MINUTE, MINUTE), "a clock that was set back knows nothing");
    }

    #[test]
    fn the_oldest_sends_are_forgotten_first() {
        let sends = RecentSends::default();
        for number in 0..=MOST {
            sends.remember(number.to_string(), START);
        }
        assert!(!sends.has("0", START, MINUTE) && sends.has("1", START, MINUTE) && sends.has(&MOST.to_string(), START, MINUTE));
        assert_eq!(sends.0.lock().unwrap().len(), MOST);
    }
}
