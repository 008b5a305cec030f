//! Operators: the kit's redrive, SQS's own, resolutions and cancellations. Each is willing to do the sensible thing at any time.

use ikkai::idempotency::{Guard, JobRecord, Status};

use crate::asking::{Answer, Ask, Said, ask};
use crate::book::Kept;
use crate::moves::Moves;
use crate::times::NOW;
use crate::variant::Variant;
use crate::what::{Heard, Reset, What};
use crate::world::{Breach, Message, Operator, Place, World};

impl Moves<'_> {
    /// What operators can do.
    pub fn of_operator(&mut self) {
        self.redrives_natively();
        self.resolves();
        self.cancels();
        if !self.protocol.scope.redrive {
            return;
        }
        match self.world.operator {
            Operator::Idle => self.begins(),
            Operator::Resetting { message, view, generation } => self.resets(message, view, generation),
            Operator::Sending { message, was_reset } => self.sends_copy(message, was_reset),
            Operator::Deleting { message, then_send } => self.deletes(message, then_send),
        }
        if self.world.left.crashes > 0 && self.world.operator != Operator::Idle {
            let mut next = self.operating(Operator::Idle, self.world);
            next.left.crashes -= 1;
            // Nothing but the list of jobs that hang finds a job that was made ready without a message.
            let is_rebuilt = matches!(self.world.operator, Operator::Sending { message: None, .. });
            next.memory.is_orphaned |= is_rebuilt && !self.protocol.lacks(Variant::DeleteBeforeSend);
            self.fault(What::OperatorDies, next);
        }
    }

    fn operating(&self, operator: Operator, world: &World) -> World {
        World { operator, ..*world }
    }

    /// What to do about a dead letter is told by its record; a job without one is made a message from its record.
    fn begins(&mut self) {
        for place in 0..self.protocol.scope.slots {
            let Some(message) = self.world.message(place) else { continue };
            if message.place == Place::Dead && message.is_visible {
                self.looks_at(place, message);
            }
        }
        if !self.world.has_message()
            && !self.protocol.lacks(Variant::NoRebuild)
            && let Some(kept) = self.world.live_record(0)
            && self.can_be_put_back(kept)
        {
            let resetting = Operator::Resetting { message: None, view: kept, generation: kept.record().generation };
            self.normal(What::Rebuilds, self.operating(resetting, self.world));
        }
    }

    fn can_be_put_back(&self, kept: Kept) -> bool {
        let record = kept.record();
        match record.status {
            Status::Accepted | Status::RetryScheduled => !self.protocol.lacks(Variant::RedriveOnlyDead),
            Status::Running => record.lease_is_over(NOW) && !self.protocol.lacks(Variant::RedriveOnlyDead),
            Status::Dead => record.generation < self.protocol.scope.max_generations,
            _ => false,
        }
    }

    fn looks_at(&mut self, place: u8, message: Message) {
        let mut next = *self.world;
        next.messages[usize::from(place)] = Some(Message { is_visible: false, ..message });
        let operator = match self.world.live_record(message.key) {
            None if self.protocol.lacks(Variant::RedriveOnlyDead) => return,
            None => Operator::Sending { message: Some(place), was_reset: false },
            Some(kept) if matches!(kept.status(), Status::Succeeded | Status::Cancelled) => {
                Operator::Deleting { message: place, then_send: false }
            }
            Some(kept) if self.can_be_put_back(kept) => {
                let is_sent_first = self.protocol.lacks(Variant::ResetAfterSend) && kept.status() == Status::Dead;
                let generation = kept.record().generation;
                if is_sent_first {
                    if let Some(sent) = self.sent_to_queue(&next, self.copy_of(message)) {
                        next = sent;
                    } else {
                        return;
                    }
                }
                Operator::Resetting { message: Some(place), view: kept, generation }
            }
            Some(_) => return,
        };
        self.normal(What::LooksAt(place), self.operating(operator, &next));
    }

    /// The record is put back if it still lives the life that was looked at.
    fn resets(&mut self, message: Option<u8>, view: Kept, generation: u32) {
        let key = message.and_then(|place| self.world.message(place)).map_or(0, |message| message.key);
        let found = self.world.record(key);
        let is_blind = self.protocol.lacks(Variant::ResetWithoutGeneration);
        let (stored, asked) = match (is_blind, found) {
            (true, Some(found)) => (found, found.record().generation),
            _ => (view, generation),
        };
        let max_generations = self.protocol.scope.max_generations;
        let Answer { next, said } = ask(Some(stored), Ask::PutBack { generation: asked, max_generations });
        let Some(wanted) = next else { return self.goes_on(message, said, false, self.world) };
        if !is_blind && !Guard::Unchanged.holds(Some(view.record()), found.map(Kept::record)) {
            let resetting = found.map(|view| Operator::Resetting { message, view, generation });
            let next = self.operating(resetting.unwrap_or(Operator::Idle), self.world);
            return self.normal(What::Resets(Reset::Changed, Heard::Yes), next);
        }
        let mut written = *self.world;
        if found.is_some_and(|found| found.record().generation != generation && found.status() == Status::Dead) {
            written.breaks(Breach::StaleWish);
        }
        written.write(key, wanted);
        if self.world.left.lost_answers > 0 {
            let mut next = written;
            next.left.lost_answers -= 1;
            let what = if said == Said::Waiting { Reset::Waiting } else { Reset::Done };
            self.fault(What::Resets(what, Heard::Lost), next);
        }
        let was_reset = said == Said::Done(Status::Accepted);
        self.goes_on(message, said, was_reset, &written);
    }

    fn goes_on(&mut self, message: Option<u8>, said: Said, was_reset: bool, world: &World) {
        let sent_first = self.protocol.lacks(Variant::ResetAfterSend) && was_reset;
        let (reset, operator) = match (said, message) {
            (Said::Done(Status::Accepted), Some(place)) if sent_first => {
                (Reset::Done, Operator::Deleting { message: place, then_send: false })
            }
            (Said::Done(Status::Accepted), Some(place)) if self.protocol.lacks(Variant::DeleteBeforeSend) => {
                (Reset::Done, Operator::Deleting { message: place, then_send: true })
            }
            (Said::Done(Status::Accepted), _) => (Reset::Done, Operator::Sending { message, was_reset: true }),
            (Said::Waiting, _) => (Reset::Waiting, Operator::Sending { message, was_reset: false }),
            (Said::Over, Some(place)) => (Reset::Over, Operator::Deleting { message: place, then_send: false }),
            (Said::Over, None) => (Reset::Over, Operator::Idle),
            _ => (Reset::Refused, Operator::Idle),
        };
        let mut next = self.operating(operator, world);
        next.memory.is_awaited |= sent_first;
        self.normal(What::Resets(reset, Heard::Yes), next);
    }

    fn copy_of(&self, message: Message) -> Message {
        let is_late = self.world.live_record(message.key).is_some_and(|kept| kept.status() == Status::Dead);
        let is_late = is_late && !self.protocol.lacks(Variant::ResetAfterSend);
        Message {
            place: Place::Source,
            is_visible: true,
            receives: 0,
            holder: None,
            is_late,
            is_put_back: self.world.live_record(message.key).is_some_and(|kept| kept.status() == Status::Dead),
            key: self.key_of_new(),
        }
    }

    fn sends_copy(&mut self, message: Option<u8>, was_reset: bool) {
        let original = message.and_then(|place| self.world.message(place));
        let blank = Message {
            place: Place::Dead,
            is_visible: false,
            receives: 0,
            holder: None,
            is_late: false,
            is_put_back: true,
            key: 0,
        };
        let copy = self.copy_of(original.unwrap_or(blank));
        let (mut sent, left) = match (self.sent_to_queue(self.world, copy), message, original) {
            (Some(sent), Some(place), Some(_)) => (sent, Operator::Deleting { message: place, then_send: false }),
            (Some(sent), ..) => (sent, Operator::Idle),
            // Where a scope has no room for both, sending and deleting are one step.
            (None, Some(place), Some(_)) => {
                let mut next = *self.world;
                next.replace_message(place, copy);
                (next, Operator::Idle)
            }
            (None, ..) => return self.normal(What::FindsNoRoom, self.operating(Operator::Idle, self.world)),
        };
        // It may have run already, by another message; then nobody waits for this one.
        let is_ready = self.world.live_record(0).is_some_and(|kept| kept.status() == Status::Accepted);
        sent.memory.is_awaited |= was_reset && is_ready;
        sent.memory.is_orphaned = false;
        self.normal(What::SendsCopy(Heard::Yes), self.operating(left, &sent));
        if self.world.left.lost_answers > 0 {
            let mut next = self.operating(Operator::Idle, &sent);
            next.left.lost_answers -= 1;
            self.fault(What::SendsCopy(Heard::Lost), next);
        }
    }

    fn deletes(&mut self, place: u8, then_send: bool) {
        let mut next = *self.world;
        next.messages[usize::from(place)] = None;
        let operator = if then_send { Operator::Sending { message: None, was_reset: true } } else { Operator::Idle };
        self.normal(What::Deletes(place), self.operating(operator, &next));
    }

    /// SQS moves the message back by itself: a new message for the consumer, and nobody asks the record.
    fn redrives_natively(&mut self) {
        if self.world.left.native_redrives == 0 {
            return;
        }
        for place in 0..self.protocol.scope.slots {
            let Some(message) = self.world.message(place) else { continue };
            if message.place != Place::Dead || !message.is_visible {
                continue;
            }
            let dead = self.world.live_record(message.key).filter(|kept| kept.status() == Status::Dead);
            for is_late in [true, false] {
                let mut next = *self.world;
                next.left.native_redrives -= 1;
                let moved = Message { is_late: is_late && dead.is_some(), ..self.copy_of(message) };
                next.replace_message(place, moved);
                let runs = dead.is_some_and(|kept| kept.record().generation < self.protocol.scope.max_generations);
                next.memory.is_awaited |= is_late && runs;
                self.normal(What::NativeRedrive(place, is_late), next);
                // Only a dead job asks when it was sent.
                if dead.is_none() {
                    break;
                }
            }
        }
    }

    fn resolves(&mut self) {
        let Some(kept) = self.world.live_record(0).filter(|kept| kept.status() == Status::InDoubt) else { return };
        if !self.protocol.scope.resolve {
            return;
        }
        for done in [true, false] {
            let Answer { next: Some(resolved), .. } =
                ask(Some(kept), Ask::Resolve { generation: kept.record().generation, done })
            else {
                continue;
            };
            let mut next = *self.world;
            next.write(0, resolved);
            if !done {
                next.memory.effects_left = (next.memory.effects_left + 1).min(2);
            }
            if !done && self.protocol.lacks(Variant::ResolveReopens) {
                let reopened = JobRecord { status: Status::Accepted, attempts: 0, died_at: None, ..resolved.record().clone() };
                next.write(0, Kept::keep(reopened));
            }
            self.normal(What::Resolves(done), next);
        }
    }

    fn cancels(&mut self) {
        if self.world.left.cancels > 0
            && let Answer { next: Some(cancelled), said: Said::Over } = ask(self.world.live_record(0), Ask::Cancel)
        {
            let mut next = *self.world;
            next.left.cancels -= 1;
            next.write(0, cancelled);
            self.normal(What::Cancels, next);
        }
    }
}
