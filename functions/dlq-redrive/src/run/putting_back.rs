//! A page of a run that puts messages back.

use super::drafts::Draft;
use super::page::Page;
use super::part::{Part, Step};
use super::progress::Canary;
use crate::dead_letter::DeadLetter;
use crate::plan::{Plan, Rules, plan};
use crate::protocol::VerdictCode;
use crate::queues::StackQueue;

impl Part<'_> {
    /// Puts a page of messages back, as far as their records let them.
    pub(super) async fn put_back(&mut self, page: Page<'_>) -> Step {
        let (mut drafts, mut done) = (Vec::new(), Vec::new());
        for letter in page.letters {
            match self.plan_of(&letter) {
                Plan::Leave(verdict) => self.leave(page.queue, letter, verdict, None),
                Plan::Delete => done.push(letter),
                Plan::Send { resets, rebuilt_from } => match self.target_of(&letter, page.queue) {
                    Some(target) => drafts.push(Draft { letter, target, resets, rebuilt_from, hidden_until: page.hidden_until }),
                    None => {
                        let detail = "the queue that it came from is not of this stack".to_owned();
                        self.leave(page.queue, letter, VerdictCode::NoSource, Some(detail));
                    }
                },
            }
        }
        if self.order.dry_run {
            self.only_say(page.queue, done, drafts);
            return Ok(());
        }
        self.delete_done(page.queue, done).await;
        if matches!(self.progress.canary, Canary::Sending { .. }) {
            drafts = self.set_aside(drafts);
        }
        self.send_drafts(page.queue, drafts).await
    }

    /// What is to be done with a message, by the records of its jobs.
    fn plan_of(&self, letter: &DeadLetter) -> Plan {
        let override_quarantine = self.order.putting_back().is_some_and(|task| task.override_quarantine);
        let rules = Rules { max_generations: self.workbench.limits.max_generations, override_quarantine };
        plan(letter, rules, self.workbench.clock.now())
    }

    /// Sets aside what no canary can be made of, and what stands behind it in its group.
    fn set_aside(&mut self, drafts: Vec<Draft>) -> Vec<Draft> {
        let now = self.workbench.clock.now();
        let mut followed = Vec::with_capacity(drafts.len());
        for draft in drafts {
            let group = draft.group();
            let has_to_wait = group.is_some() && self.aside.iter().any(|waiting| waiting.group() == group);
            if has_to_wait || !draft.can_be_followed(now) {
                self.aside.push(draft);
            } else {
                followed.push(draft);
            }
        }
        followed
    }

    /// Where SQS moved the message from; a message that somebody sent here belongs to the queue whose dead-letter queue this is.
    pub(super) fn target_of(&self, letter: &DeadLetter, queue: &StackQueue) -> Option<StackQueue> {
        match &letter.message.source {
            None => Some(queue.clone()),
            Some(source) => self.workbench.queues.of_source(source).cloned(),
        }
    }

    fn leave(&mut self, queue: &StackQueue, letter: DeadLetter, verdict: VerdictCode, detail: Option<String>) {
        self.judge(queue, &letter, verdict, detail);
        self.left.push(letter.message);
    }

    fn only_say(&mut self, queue: &StackQueue, done: Vec<DeadLetter>, drafts: Vec<Draft>) {
        for letter in done {
            self.leave(queue, letter, VerdictCode::AlreadyDone, None);
        }
        for draft in drafts {
            self.leave(queue, draft.letter, VerdictCode::Redriven, None);
        }
    }
}
