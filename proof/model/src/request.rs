//! The producer: record first, then send; 202 means enqueued. The client repeats its request until it is told so.

use ikkai::idempotency::{Guard, Status};

use crate::asking::{Answer, Ask, Said, accepted, ask};
use crate::book::Kept;
use crate::moves::Moves;
use crate::token::Token;
use crate::variant::Variant;
use crate::what::{Posted, Sending, What};
use crate::world::{Message, Place, Request, Seen, World};

impl Moves<'_> {
    /// What the client and the producer can do.
    pub fn of_requests(&mut self) {
        for number in 0..self.protocol.scope.requests {
            let request = self.world.requests[usize::from(number)];
            match request {
                Request::New => self.posts(number),
                Request::TakingOver(Seen(view)) => self.takes_over(number, view),
                Request::Sending { again } => self.sends(number, again),
                Request::Failing => self.gives_up_sending(number),
                Request::Confirming => self.confirms(number),
                Request::Answered => {}
            }
            if self.world.left.crashes > 0 && !matches!(request, Request::New | Request::Answered) {
                let mut next = self.at(number, Request::New, self.world);
                next.left.crashes -= 1;
                self.fault(What::ProducerDies(number, request), next);
            }
        }
    }

    fn at(&self, number: u8, request: Request, world: &World) -> World {
        let mut next = *world;
        next.requests[usize::from(number)] = request;
        next
    }

    fn answered(&self, number: u8, world: &World) -> World {
        let mut next = self.at(number, Request::Answered, world);
        next.memory.was_told = true;
        next
    }

    fn posts(&mut self, number: u8) {
        let token = Token::Request(number);
        let Some(found) = self.world.live_record(0) else {
            let mut next = self.at(number, Request::Sending { again: false }, self.world);
            next.write(0, accepted(token, true));
            next.memory.has_data = true;
            return self.normal(What::Posts(number, Posted::New), next);
        };
        let known = What::Posts(number, Posted::Known);
        if matches!(found.status(), Status::Dead | Status::InDoubt | Status::Cancelled) {
            return self.normal(known, self.at(number, Request::Answered, self.world));
        }
        if found.status() != Status::Accepted {
            return self.normal(known, self.answered(number, self.world));
        }
        match ask(Some(found), Ask::TakeOverSending(token)) {
            Answer { next: Some(_), .. } => {
                let next = self.at(number, Request::TakingOver(Seen(found)), self.world);
                self.normal(What::Posts(number, Posted::Open), next);
            }
            Answer { said: Said::KnownEnqueued, .. } => self.normal(known, self.answered(number, self.world)),
            // 409: the client asks again.
            Answer { .. } => {}
        }
    }

    fn takes_over(&mut self, number: u8, view: Kept) {
        let found = self.world.record(0);
        let Answer { next: Some(wanted), .. } = ask(Some(view), Ask::TakeOverSending(Token::Request(number))) else { return };
        if Guard::Unchanged.holds(Some(view.record()), found.map(Kept::record)) {
            let mut next = self.at(number, Request::Sending { again: true }, self.world);
            next.write(0, wanted);
            self.normal(What::TakesOver(number, true), next);
        } else {
            self.normal(What::TakesOver(number, false), self.at(number, Request::New, self.world));
        }
    }

    fn sends(&mut self, number: u8, again: bool) {
        let message = Message {
            place: Place::Source,
            is_visible: true,
            receives: 0,
            holder: None,
            // Within the send lease, so of a death since then it is no put-back.
            is_late: false,
            is_put_back: false,
            key: 0,
        };
        let Some(sent) = self.sent_to_queue(self.world, message) else {
            return self.normal(What::FindsNoRoom, self.at(number, Request::Answered, self.world));
        };
        let told = self.answered(number, &sent);
        let told = if again { self.at(number, Request::Confirming, &told) } else { told };
        self.normal(What::Sends(number, Sending::Confirmed), told);
        if self.world.left.lost_answers > 0 {
            for (sending, world) in [(Sending::Unclear, &sent), (Sending::Failed, self.world)] {
                let mut next = self.at(number, Request::Failing, world);
                next.left.lost_answers -= 1;
                self.fault(What::Sends(number, sending), next);
            }
        }
    }

    fn gives_up_sending(&mut self, number: u8) {
        let mut next = self.at(number, Request::New, self.world);
        let found = self.world.record(0);
        let token = Token::Request(number);
        let is_mine = token.guard().holds(None, found.map(Kept::record));
        if is_mine && self.protocol.lacks(Variant::DeleteAfterUnclearSend) {
            next.records[0] = None;
        } else if is_mine && let Answer { next: Some(ended), .. } = ask(found, Ask::EndSendLease(token)) {
            next.write(0, ended);
        }
        self.normal(What::GivesUpSending(number, is_mine), next);
    }

    fn confirms(&mut self, number: u8) {
        let mut next = self.answered(number, self.world);
        let found = self.world.record(0);
        let token = Token::Request(number);
        let is_mine = token.guard().holds(None, found.map(Kept::record));
        if is_mine && let Answer { next: Some(confirmed), .. } = ask(found, Ask::ConfirmSent(token)) {
            next.write(0, confirmed);
        }
        self.normal(What::Confirms(number), next);
    }
}
