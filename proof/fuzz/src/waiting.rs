//! Runs what waits, without waiting: on tokio's paused time, which jumps ahead when nothing else is to be done.

use std::future::Future;

use tokio::runtime::{Builder, EnterGuard, Runtime};

thread_local! {
    /// One for all inputs of a thread: to make one takes longer than most of them.
    static RUNTIME: &'static Runtime = Box::leak(Box::new(paused()));
}

fn paused() -> Runtime {
    Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime")
}

/// The outcome of `future`.
pub(crate) fn outcome<F: Future>(future: F) -> F::Output {
    RUNTIME.with(|runtime| runtime.block_on(future))
}

/// Until the guard is dropped, the time is the paused one outside of [`outcome`] too.
pub(crate) fn on_paused_time() -> EnterGuard<'static> {
    RUNTIME.with(|runtime| runtime.enter())
}
