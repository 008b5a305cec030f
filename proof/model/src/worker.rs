//! A consumer at one message: receive, claim, and what becomes of a claim. The run and its end are in [`run`](crate::run).

use ikkai::idempotency::{Guard, Status};

use crate::asking::{Answer, Ask, Said, Sent, ask};
use crate::book::Kept;
use crate::moves::Moves;
use crate::token::Token;
use crate::variant::Variant;
use crate::what::{Claimed, Heard, What};
use crate::world::{Breach, Place, Reply, Step, Worker, World};

impl Moves<'_> {
    /// What a worker can do.
    pub fn of_worker(&mut self, number: u8) {
        let worker = self.world.workers[usize::from(number)];
        match worker.step {
            Step::Idle => return self.receives(number),
            Step::Claiming(again) => self.claims(number, worker, again),
            Step::Taking(view, sent) => self.takes(number, worker, view, sent),
            Step::Running { noted } => self.runs(number, worker, noted),
            Step::Begun => self.meets_provider(number, worker, false),
            Step::Settling { end, noted, again } => self.settles(number, worker, end, noted, again),
            Step::Answering(reply) => self.answers(number, worker, reply),
        }
        if self.world.left.crashes > 0 {
            let mut next = self.freed(number, self.world);
            next.left.crashes -= 1;
            // On its last receive the message goes to the dead-letter queue with it, and somebody has to look again.
            let receives = self.world.message(worker.message).map_or(0, |message| message.receives);
            next.memory.is_awaited &= receives < self.protocol.scope.max_receives;
            next.messages
                .iter_mut()
                .flatten()
                .filter(|message| message.holder == Some(number))
                .for_each(|message| message.holder = None);
            self.fault(What::WorkerDies(number), next);
        }
    }

    fn receives(&mut self, number: u8) {
        for place in 0..self.protocol.scope.slots {
            let Some(message) = self.world.message(place) else { continue };
            if message.place != Place::Source || !message.is_visible || message.receives >= self.protocol.scope.max_receives {
                continue;
            }
            let mut next = *self.world;
            let received = next.messages[usize::from(place)].insert(message);
            (received.is_visible, received.holder, received.receives) = (false, Some(number), message.receives + 1);
            next.workers[usize::from(number)] = Worker { step: Step::Claiming(None), message: place };
            self.normal(What::Receives(number, place), next);
        }
    }

    fn key_of(&self, worker: Worker) -> u8 {
        self.world.message(worker.message).map_or(0, |message| message.key)
    }

    fn claim(&self, number: u8, sent: Sent) -> Ask {
        Ask::Claim(Token::Worker(number), sent, self.protocol.claim_rules())
    }

    fn claims(&mut self, number: u8, worker: Worker, again: Option<bool>) {
        let key = self.key_of(worker);
        let found = self.world.record(key);
        let sent = self.sent(self.world.message(worker.message));
        let Answer { next, said } = ask(found, self.claim(number, sent));
        let is_mine = found.is_some_and(|kept| kept.owner() == Some(Token::Worker(number)));
        if self.protocol.lacks(Variant::OwnTokenIsEnough) && again.is_some() && is_mine {
            let noted = again.unwrap_or_default();
            return self.starts(number, worker, What::Claims(number, Claimed::WasStarted, Heard::Yes), noted);
        }
        match (said, next) {
            // The claim's own first write, whose answer was lost.
            (Said::Started { .. }, None) => {
                self.starts(number, worker, What::Claims(number, Claimed::WasStarted, Heard::Yes), again.unwrap_or_default());
            }
            (Said::Started { noted }, Some(started)) if is_ordinary(found) => {
                let step = Step::Running { noted };
                self.written(number, worker, started, (What::Claims, Claimed::Started), step, again, noted);
            }
            (_, Some(_)) => {
                let next = self.stepped(number, Step::Taking(found, sent), self.world);
                self.normal(What::Claims(number, Claimed::Undecided, Heard::Yes), next);
            }
            (said, None) => self.stops(number, said, Claimed::Refused),
        }
    }

    /// The decision about a refused claim is written if the record is still what was read; else it is decided anew.
    fn takes(&mut self, number: u8, worker: Worker, view: Option<Kept>, sent: Sent) {
        let key = self.key_of(worker);
        let found = self.world.record(key);
        let Answer { next: Some(wanted), said } = ask(view, self.claim(number, sent)) else { return };
        let guard = if view.is_some() { Guard::Unchanged } else { Guard::Absent };
        if guard.holds(view.map(Kept::record), found.map(Kept::record)) {
            let (claimed, step, noted) = match said {
                Said::Started { noted } => (Claimed::Started, Step::Running { noted }, noted),
                Said::InDoubt => (Claimed::Doubted, Step::Answering(Reply::GiveUp), false),
                _ => (Claimed::Died, Step::Answering(Reply::GiveUp), false),
            };
            return self.written(number, worker, wanted, (What::Takes, claimed), step, None, noted);
        }
        let sent = self.sent(self.world.message(worker.message));
        match ask(found, self.claim(number, sent)) {
            Answer { next: None, said } => self.stops(number, said, Claimed::Changed),
            Answer { next: Some(_), .. } => {
                let next = self.stepped(number, Step::Taking(found, sent), self.world);
                self.normal(What::Takes(number, Claimed::Changed, Heard::Yes), next);
            }
        }
    }

    /// A claim is written; its answer may be lost, and then the claim is repeated once.
    #[expect(clippy::too_many_arguments, reason = "one write, and everything that it leaves behind")]
    fn written(
        &mut self,
        number: u8,
        worker: Worker,
        wanted: Kept,
        (what, claimed): (fn(u8, Claimed, Heard) -> What, Claimed),
        step: Step,
        again: Option<bool>,
        noted: bool,
    ) {
        let key = self.key_of(worker);
        let before = self.world.record(key);
        let mut next = *self.world;
        next.write(key, wanted);
        if claimed == Claimed::Started {
            next.memory.is_awaited = false;
            let was_dead = before.is_some_and(|kept| kept.status() == Status::Dead);
            let is_put_back = self.world.message(worker.message).is_none_or(|message| message.is_put_back);
            if was_dead && !is_put_back {
                next.breaks(Breach::RanUnasked);
            }
        }
        if self.world.left.lost_answers > 0 {
            let after = if again.is_some() { Step::Answering(Reply::ComeBackUnasked) } else { Step::Claiming(Some(noted)) };
            let mut unheard = self.stepped(number, after, &next);
            unheard.left.lost_answers -= 1;
            self.fault(what(number, claimed, Heard::Lost), unheard);
        }
        let next = self.stepped(number, step, &next);
        self.normal(what(number, claimed, Heard::Yes), next);
    }

    /// The handler starts on a record that was its worker's before this step.
    fn starts(&mut self, number: u8, worker: Worker, what: What, noted: bool) {
        let mut next = self.stepped(number, Step::Running { noted }, self.world);
        let is_owner =
            self.world.record(self.key_of(worker)).is_some_and(|kept| kept.record().is_run_by(Token::Worker(number).as_str()));
        if !is_owner {
            next.breaks(Breach::StartedUnowned);
        }
        self.normal(what, next);
    }

    fn stops(&mut self, number: u8, said: Said, claimed: Claimed) {
        let reply = match said {
            Said::Over => Reply::Acknowledge,
            Said::Dead | Said::InDoubt => Reply::GiveUp,
            Said::Waits => Reply::ComeBack,
            _ => Reply::ComeBackUnasked,
        };
        let next = self.stepped(number, Step::Answering(reply), self.world);
        self.normal(What::Claims(number, claimed, Heard::Yes), next);
    }

    /// The world with the worker at another step.
    pub fn stepped(&self, number: u8, step: Step, world: &World) -> World {
        let mut next = *world;
        next.workers[usize::from(number)].step = step;
        next
    }

    /// The world with the worker waiting for its next message.
    pub fn freed(&self, number: u8, world: &World) -> World {
        let mut next = *world;
        next.workers[usize::from(number)] = Worker { step: Step::Idle, message: 0 };
        next
    }
}

/// What the one-write claim accepts; everything else is refused with the stored record and decided by its reader.
fn is_ordinary(found: Option<Kept>) -> bool {
    found.is_none_or(|kept| matches!(kept.status(), Status::Accepted | Status::RetryScheduled))
}
