//! What long work tells about itself while it runs.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// Something that happened in a long piece of work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "camelCase")]
#[non_exhaustive]
pub enum Event {
    /// A step began.
    Began {
        /// What it does, such as `building the functions`.
        step: String,
    },
    /// What the step is at.
    Detail {
        /// One line.
        text: String,
    },
    /// The step is done.
    Done {
        /// What it did.
        step: String,
        /// How long it took.
        took: Duration,
    },
}

/// Takes the events. Cloning is cheap; clones write to the same place.
#[derive(Clone)]
pub struct Progress(Arc<dyn Fn(Event) + Send + Sync>);

impl fmt::Debug for Progress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Progress")
    }
}

impl Progress {
    /// Hands every event to `sink`.
    pub fn new(sink: impl Fn(Event) + Send + Sync + 'static) -> Self {
        Self(Arc::new(sink))
    }

    /// Tells nobody.
    #[must_use]
    pub fn silent() -> Self {
        Self::new(|_| {})
    }

    /// Begins a step.
    #[must_use]
    pub fn begin(&self, step: impl Into<String>) -> Step<'_> {
        let step = step.into();
        (self.0)(Event::Began { step: step.clone() });
        Step { progress: self, step, began: Instant::now() }
    }

    /// Hands on an event that came from elsewhere.
    pub fn event(&self, event: Event) {
        (self.0)(event);
    }
}

/// A step at work. Dropped without [`done`](Self::done), it has failed, and the error says why.
#[derive(Debug)]
pub struct Step<'a> {
    progress: &'a Progress,
    step: String,
    began: Instant,
}

impl Step<'_> {
    /// What the step is at.
    pub fn detail(&self, text: impl Into<String>) {
        (self.progress.0)(Event::Detail { text: text.into() });
    }

    /// The step is done.
    pub fn done(self) {
        (self.progress.0)(Event::Done { step: self.step, took: self.began.elapsed() });
    }
}
