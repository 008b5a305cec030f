//! Steps of the story, each with its promises.

use std::time::Duration;

use crate::demo::findings::{Findings, Missed};
use crate::demo::stage::Stage;

/// What became of a step.
#[derive(Debug)]
pub(in crate::demo) struct StepOutcome {
    pub(in crate::demo) step: &'static str,
    /// What happened, in a line.
    pub(in crate::demo) detail: String,
    pub(in crate::demo) took: Duration,
    pub(in crate::demo) findings: Findings,
}

/// The steps so far.
pub(super) struct Steps<'a> {
    stage: &'a Stage<'a>,
    told: Vec<StepOutcome>,
}

impl<'a> Steps<'a> {
    pub(super) fn new(stage: &'a Stage<'a>) -> Self {
        Self { stage, told: Vec::new() }
    }

    /// Plays a step; `play` says what happened in a line, and what follows from it. A step that breaks a promise ends the story: the next ones
    /// stand on it.
    pub(super) async fn step<T>(
        &mut self,
        name: &'static str,
        play: impl AsyncFnOnce(&mut Findings) -> Result<(String, T), Missed>,
    ) -> Result<T, Missed> {
        let line = self.stage.live.line(name);
        let mut findings = Findings::default();
        let (detail, result) = match play(&mut findings).await {
            Ok((detail, result)) => (detail, Ok(result)),
            Err(missed) => {
                findings.missed(&missed);
                (String::new(), Err(missed))
            }
        };
        let broken = findings.broken().next().map(|broken| format!("{}, but found {}", broken.promise, broken.found));
        let well = broken.is_none();
        let detail = broken.clone().unwrap_or(detail);
        line.ended(well, None, &detail);
        self.told.push(StepOutcome { step: name, detail, took: line.elapsed(), findings });
        match (result, broken) {
            (Ok(result), None) => Ok(result),
            (_, broken) => Err(Missed { what: name.to_owned(), found: broken.unwrap_or_default() }),
        }
    }

    /// What kept the story from going on is told, where no step tells it already.
    pub(super) fn missed(&mut self, missed: Missed) {
        if self.told.iter().all(|step| step.findings.all_kept()) {
            let mut findings = Findings::default();
            findings.missed(&missed);
            let detail = missed.found;
            self.told.push(StepOutcome { step: "a stack for operators", detail, took: Duration::ZERO, findings });
        }
    }

    pub(super) fn told(self) -> Vec<StepOutcome> {
        self.told
    }
}
