//! The circuit breaker of one consumer in one sandbox.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Opens after a number of transient failures in a row, or at once after one that meets every job, and defers everything for a
/// cool-down; then one job tries.
#[derive(Debug)]
pub(super) struct Circuit {
    failures_to_open: u32,
    cooldown: Duration,
    state: Mutex<State>,
}

/// How a job passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pass {
    /// The circuit is closed.
    Free,
    /// As the one job that tries; the others stay away up to then.
    Probe(Instant),
}

#[derive(Debug)]
struct State {
    failures_in_a_row: u32,
    /// Nothing passes before this; whoever passes first afterwards is the probe and pushes it on.
    closed_until: Option<Instant>,
}

impl Circuit {
    pub(super) fn new(failures_to_open: u32, cooldown: Duration) -> Self {
        Self { failures_to_open, cooldown, state: Mutex::new(State { failures_in_a_row: 0, closed_until: None }) }
    }

    /// Asks to pass.
    ///
    /// # Errors
    /// How long to stay away.
    pub(super) fn pass(&self, now: Instant) -> Result<Pass, Duration> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match state.closed_until {
            None => Ok(Pass::Free),
            Some(until) if now < until => Err(until - now),
            Some(_) => {
                // One probe at a time; if it never reports, the next one goes after another cool-down.
                let until = now + self.cooldown;
                state.closed_until = Some(until);
                Ok(Pass::Probe(until))
            }
        }
    }

    /// A probe that learned nothing about the provider lets the next job be one.
    pub(super) fn give_back(&self, pass: Pass, now: Instant) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Pass::Probe(until) = pass
            && state.closed_until == Some(until)
        {
            state.closed_until = Some(now);
        }
    }

    /// The provider worked.
    pub(super) fn succeeded(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.failures_in_a_row = 0;
        state.closed_until = None;
    }

    /// The provider failed in a way that may go away.
    pub(super) fn failed(&self, now: Instant) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.failures_in_a_row = state.failures_in_a_row.saturating_add(1);
        if state.failures_in_a_row >= self.failures_to_open {
            state.closed_until = Some(now + self.cooldown);
        }
    }

    /// The provider failed in a way that meets every job: no need to count.
    pub(super) fn open(&self, now: Instant) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.failures_in_a_row = state.failures_in_a_row.max(self.failures_to_open);
        state.closed_until = Some(now + self.cooldown);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COOLDOWN: Duration = Duration::from_secs(30);

    #[test]
    fn the_circuit_opens_after_failures_in_a_row_and_lets_one_probe_through_after_the_cooldown() {
        let (circuit, start) = (Circuit::new(3, COOLDOWN), Instant::now());
        circuit.failed(start);
        circuit.failed(start);
        assert_eq!(circuit.pass(start), Ok(Pass::Free));
        circuit.failed(start);
        assert_eq!(circuit.pass(start), Err(COOLDOWN));
        let later = start + COOLDOWN;
        assert_eq!(circuit.pass(later), Ok(Pass::Probe(later + COOLDOWN)));
        assert_eq!(circuit.pass(later), Err(COOLDOWN), "only one probe passes");
        circuit.succeeded();
        assert_eq!(circuit.pass(later), Ok(Pass::Free));
    }

    #[test]
    fn a_failure_that_meets_every_job_opens_it_at_once_and_a_failed_probe_again() {
        let (circuit, start) = (Circuit::new(5, COOLDOWN), Instant::now());
        circuit.open(start);
        assert_eq!(circuit.pass(start), Err(COOLDOWN));
        let later = start + COOLDOWN;
        assert_eq!(circuit.pass(later), Ok(Pass::Probe(later + COOLDOWN)));
        circuit.failed(later);
        assert_eq!(circuit.pass(later), Err(COOLDOWN));
        circuit.succeeded();
        assert_eq!(circuit.pass(later), Ok(Pass::Free));
    }

    #[test]
    fn a_success_in_between_starts_the_count_again() {
        let (circuit, now) = (Circuit::new(2, COOLDOWN), Instant::now());
        circuit.failed(now);
        circuit.succeeded();
        circuit.failed(now);
        assert_eq!(circuit.pass(now), Ok(Pass::Free));
    }

    #[test]
    fn a_failed_probe_opens_it_again() {
        let (circuit, start) = (Circuit::new(1, COOLDOWN), Instant::now());
        circuit.failed(start);
        let later = start + COOLDOWN;
        assert_eq!(circuit.pass(later), Ok(Pass::Probe(later + COOLDOWN)));
        circuit.failed(later);
        assert_eq!(circuit.pass(later), Err(COOLDOWN));
    }

    #[test]
    fn a_probe_that_is_given_back_goes_to_the_next_one_unless_something_failed_meanwhile() {
        let (circuit, start) = (Circuit::new(1, COOLDOWN), Instant::now());
        circuit.failed(start);
        let later = start + COOLDOWN;
        let probe = circuit.pass(later).unwrap();
        circuit.give_back(probe, later);
        let second = circuit.pass(later).unwrap();
        assert_eq!(second, probe);
        let much_later = later + Duration::from_secs(1);
        circuit.failed(much_later);
        circuit.give_back(second, much_later);
        assert_eq!(circuit.pass(much_later), Err(COOLDOWN));
    }
}
