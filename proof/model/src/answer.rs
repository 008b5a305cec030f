//! How a consumer answers SQS about its message, and what SQS does with messages by itself.

use ikkai::idempotency::Status;

use crate::moves::Moves;
use crate::variant::Variant;
use crate::what::What;
use crate::world::{Breach, Message, Operator, Place, Reply, Step, Worker, World};

/// Whether the job's message may be copied.
enum Standing {
    Waits,
    Done,
    Ended,
}

impl Moves<'_> {
    /// The end of a receive.
    pub fn answers(&mut self, number: u8, worker: Worker, reply: Reply) {
        let message = self.world.message(worker.message);
        let Some(message) = message else {
            return self.normal(What::Answers(number, reply, worker.message), self.freed(number, self.world));
        };
        match reply {
            Reply::Acknowledge => self.acknowledges(number, worker, message),
            Reply::GiveUp => self.reports(number, worker, reply, message),
            Reply::ComeBack if self.runs_low(message) => self.renews(number, worker, message, Standing::Waits),
            Reply::ComeBackUnasked if self.runs_low(message) => self.renews(number, worker, message, self.standing(message)),
            Reply::Leave if message.receives >= self.protocol.scope.max_receives => {
                self.renews(number, worker, message, self.standing(message));
            }
            Reply::ComeBack | Reply::ComeBackUnasked => self.reports(number, worker, reply, message),
            Reply::Leave => self.normal(What::Answers(number, reply, worker.message), self.left_alone(number, worker)),
        }
    }

    fn runs_low(&self, message: Message) -> bool {
        message.receives + 1 >= self.protocol.scope.max_receives
    }

    fn acknowledges(&mut self, number: u8, worker: Worker, message: Message) {
        let mut next = self.freed(number, self.world);
        next.messages[usize::from(worker.message)] = None;
        self.normal(What::Answers(number, Reply::Acknowledge, worker.message), next);
        if message.holder != Some(number) {
            // With an older receipt SQS may say yes and keep the message.
            self.normal(What::Answers(number, Reply::Leave, worker.message), self.freed(number, self.world));
        }
    }

    fn reports(&mut self, number: u8, worker: Worker, reply: Reply, message: Message) {
        let mut next = self.left_alone(number, worker);
        if message.holder == Some(number) {
            next.messages[usize::from(worker.message)] = Some(Message { is_visible: true, holder: None, ..message });
        }
        self.normal(What::Answers(number, reply, worker.message), next);
    }

    fn left_alone(&self, number: u8, worker: Worker) -> World {
        let mut next = self.freed(number, self.world);
        if let Some(message) = &mut next.messages[usize::from(worker.message)] {
            message.holder = message.holder.filter(|holder| *holder != number);
        }
        next
    }

    /// A copy takes the message's place.
    fn renews(&mut self, number: u8, worker: Worker, message: Message, standing: Standing) {
        if self.protocol.lacks(Variant::NoRenewal) {
            return self.reports(number, worker, Reply::ComeBack, message);
        }
        match standing {
            Standing::Done => self.acknowledges(number, worker, message),
            Standing::Ended => self.reports(number, worker, Reply::ComeBack, message),
            Standing::Waits => {
                // Sent within the margin after the record was asked, so of a death since then it is no put-back.
                let is_dead = self.world.live_record(message.key).is_some_and(|kept| kept.status() == Status::Dead);
                let is_late = is_dead && message.is_late;
                let key = self.key_of_new();
                let copy = Message { place: Place::Source, is_visible: true, receives: 0, holder: None, is_late, key, ..message };
                match self.sent_to_queue(self.world, copy) {
                    Some(sent) => {
                        let next = self.stepped(number, Step::Answering(Reply::Acknowledge), &sent);
                        self.normal(What::Copies(number, worker.message), next);
                    }
                    // Where a scope has no room for both, copy and acknowledgement are one step.
                    None => {
                        let mut next = self.freed(number, self.world);
                        next.replace_message(worker.message, copy);
                        self.normal(What::Copies(number, worker.message), next);
                    }
                }
            }
        }
    }

    /// What the record says to a consumer that does not know how it stands.
    fn standing(&self, message: Message) -> Standing {
        let Some(kept) = self.world.live_record(message.key) else { return Standing::Waits };
        match kept.status() {
            Status::Succeeded | Status::Cancelled => Standing::Done,
            Status::Dead if message.is_late && kept.record().generation < self.protocol.scope.max_generations => Standing::Waits,
            Status::Dead | Status::InDoubt => Standing::Ended,
            _ => Standing::Waits,
        }
    }

    /// Visibility, the redrive policy, and whatever removes messages.
    pub fn of_queue(&mut self) {
        for place in 0..self.protocol.scope.slots {
            let Some(message) = self.world.message(place) else { continue };
            match message.place {
                Place::Source if !message.is_visible => self.comes_out(place, message),
                Place::Source if message.receives >= self.protocol.scope.max_receives => self.dead_letters(place, message),
                Place::Dead if !message.is_visible && !self.operator_has(place) => {
                    let mut next = *self.world;
                    next.messages[usize::from(place)] = Some(Message { is_visible: true, ..message });
                    self.normal(What::ComesOut(place), next);
                }
                Place::Source | Place::Dead => {}
            }
            if message.is_visible && self.world.left.purges > 0 {
                let mut next = *self.world;
                next.left.purges -= 1;
                next.messages[usize::from(place)] = None;
                let is_over = self.world.live_record(message.key).is_some_and(|kept| !kept.is_unfinished());
                next.memory.is_orphaned |= !is_over;
                next.memory.is_awaited = false;
                self.fault(What::Purged(place), next);
            }
        }
    }

    fn comes_out(&mut self, place: u8, message: Message) {
        let is_held = message.holder.is_some_and(|holder| {
            let worker = self.world.workers[usize::from(holder)];
            worker.step != Step::Idle && worker.message == place
        });
        let mut next = *self.world;
        next.messages[usize::from(place)] = Some(Message { is_visible: true, holder: None, ..message });
        if !is_held {
            self.normal(What::ComesOut(place), next);
        } else if self.world.left.overruns > 0 {
            next.left.overruns -= 1;
            self.fault(What::ComesOut(place), next);
        }
    }

    fn dead_letters(&mut self, place: u8, message: Message) {
        let mut next = *self.world;
        next.messages[usize::from(place)] = Some(Message { place: Place::Dead, holder: None, ..message });
        let is_given_up = self.world.live_record(message.key).is_some_and(|kept| !kept.is_unfinished());
        if !is_given_up && self.is_in_first_life(message.key) && self.world.is_undisturbed(&self.protocol.scope.budget) {
            next.breaks(Breach::DeadLetteredUntried);
        }
        self.normal(What::DeadLetters(place), next);
    }

    /// A message from before a put-back may have used its receives up while the job was dead.
    fn is_in_first_life(&self, key: u8) -> bool {
        self.world.live_record(key).is_none_or(|kept| kept.record().generation == 0)
    }

    fn operator_has(&self, place: u8) -> bool {
        match self.world.operator {
            Operator::Resetting { message, .. } | Operator::Sending { message, .. } => message == Some(place),
            Operator::Deleting { message, .. } => message == place,
            Operator::Idle => false,
        }
    }
}
