//! A consumer's handler, its heartbeat, and the settlement of its run.

use ikkai::idempotency::Status;

use crate::asking::{Answer, Ask, Known, Policy, Said, Way, ask};
use crate::moves::Moves;
use crate::token::Token;
use crate::variant::Variant;
use crate::what::{Heard, Provider, Settled, What};
use crate::world::{Breach, End, Reply, Step, Worker, World};

impl Moves<'_> {
    /// The handler before its announcement. Under a provider's key there is none.
    pub fn runs(&mut self, number: u8, worker: Worker, noted: bool) {
        self.keeps_alive(number, worker, Some(noted));
        match self.protocol.scope.policy {
            Policy::Hold => self.announces(number, worker),
            Policy::Keyed | Policy::Rerun => self.meets_provider(number, worker, noted),
        }
    }

    fn announces(&mut self, number: u8, worker: Worker) {
        let key = self.world.message(worker.message).map_or(0, |message| message.key);
        if self.owns(number, key)
            && let Answer { next: Some(begun), .. } = ask(self.world.record(key), Ask::BeginEffect(Token::Worker(number)))
        {
            let mut written = *self.world;
            written.write(key, begun);
            self.normal(What::Announces(number, Heard::Yes), self.stepped(number, Step::Begun, &written));
            if self.world.left.lost_answers > 0 {
                let end = End::Failed(Way::Retry, Known::NotTried);
                let mut next = self.stepped(number, Step::Settling { end, noted: false, again: false }, &written);
                next.left.lost_answers -= 1;
                self.fault(What::Announces(number, Heard::Lost), next);
            }
        } else {
            // The handler hands the refusal on, and the settlement is refused likewise.
            self.normal(What::AnnouncesInVain(number), self.stepped(number, Step::Answering(Reply::Leave), self.world));
        }
        for way in self.ways() {
            self.ends_before(number, End::Failed(way, Known::Unstated), false);
        }
    }

    /// Failures of which a handler knows that nothing happened.
    fn ways(&self) -> impl Iterator<Item = Way> + use<> {
        [Some(Way::Retry), Some(Way::Die), self.protocol.scope.defers.then_some(Way::Defer)].into_iter().flatten()
    }

    fn ends_before(&mut self, number: u8, end: End, noted: bool) {
        let next = self.stepped(number, Step::Settling { end, noted, again: false }, self.world);
        self.normal(What::EndsBefore(number, end), next);
    }

    /// The irreversible step, and everything that a provider may do about it.
    pub fn meets_provider(&mut self, number: u8, worker: Worker, noted: bool) {
        if self.world.workers[usize::from(number)].step == Step::Begun {
            self.keeps_alive(number, worker, None);
        }
        let settling = |world: &World, end: End| {
            let mut next = *world;
            next.workers[usize::from(number)].step = Step::Settling { end, noted, again: false };
            next
        };
        let mut done = *self.world;
        let is_known = self.protocol.scope.policy != Policy::Hold && done.memory.key_is_known;
        if !is_known {
            match done.memory.effects_left.checked_sub(1) {
                Some(left) => done.memory.effects_left = left,
                None => done.breaks(Breach::SecondEffect),
            }
        }
        done.memory.key_is_known = self.protocol.scope.policy != Policy::Hold;
        self.normal(What::Effect(number, Provider::Does), settling(&done, End::Done));
        if self.world.left.unclear_effects > 0 {
            let unclear = match self.protocol.lacks(Variant::RepeatAfterUnclear) {
                true => End::Failed(Way::Retry, Known::NotDone),
                false => End::Failed(Way::Retry, Known::MayBeDone),
            };
            let spent = |world: World| {
                let mut next = settling(&world, unclear);
                next.left.unclear_effects -= 1;
                next
            };
            self.fault(What::Effect(number, Provider::DoesUnheard), spent(done));
            self.fault(What::Effect(number, Provider::FailsUnheard), spent(*self.world));
        }
        for way in self.ways() {
            let end = End::Failed(way, Known::NotDone);
            self.normal(What::Effect(number, Provider::Refuses(end)), settling(self.world, end));
        }
    }

    /// The heartbeat of a handler. What is lost stops it, unless its effect is announced.
    fn keeps_alive(&mut self, number: u8, worker: Worker, noted: Option<bool>) {
        let message = self.world.message(worker.message);
        let key = message.map_or(0, |message| message.key);
        let is_owner = self.owns(number, key);
        if is_owner
            && self.world.record(key).is_some_and(|kept| kept.record().lease_is_over(crate::times::NOW))
            && let Answer { next: Some(renewed), .. } = ask(self.world.record(key), Ask::Renew(Token::Worker(number)))
        {
            let mut next = *self.world;
            next.write(key, renewed);
            self.normal(What::Renews(number), next);
        }
        let Some(noted) = noted else { return };
        if !is_owner {
            self.normal(What::FindsLeaseLost(number), self.stepped(number, Step::Answering(Reply::Leave), self.world));
        } else if message.is_none_or(|message| message.holder != Some(number)) {
            let step = Step::Settling { end: End::ReceiptLost, noted, again: false };
            self.normal(What::FindsReceiptLost(number), self.stepped(number, step, self.world));
        }
    }

    fn owns(&self, number: u8, key: u8) -> bool {
        let found = self.world.record(key);
        Token::Worker(number).guard().holds(None, found.map(crate::book::Kept::record))
    }

    /// The settlement is written under the worker's lease; its answer may be lost, and then it is repeated.
    pub fn settles(&mut self, number: u8, worker: Worker, end: End, noted: bool, again: bool) {
        let key = self.world.message(worker.message).map_or(0, |message| message.key);
        let found = self.world.record(key);
        let me = Token::Worker(number);
        let is_fenced = !self.protocol.lacks(Variant::UnfencedComplete);
        // Without a fence whoever runs the job is settled for.
        let token = if is_fenced { me } else { found.and_then(crate::book::Kept::owner).unwrap_or(me) };
        let Answer { next, said } = ask(found, self.settlement(token, end, noted));
        let is_guarded = self.owns(number, key) || !is_fenced;
        match next.filter(|_| is_guarded) {
            Some(settled) => {
                let mut written = *self.world;
                if found.is_some_and(|kept| kept.owner() != Some(me)) {
                    written.breaks(Breach::StrangerWrote);
                }
                written.write(key, settled);
                let next = self.stepped(number, Step::Answering(reply(end, said)), &written);
                self.normal(What::Settles(number, end, Settled::Written, Heard::Yes), next);
                if self.world.left.lost_answers > 0 {
                    let mut next = self.stepped(number, Step::Settling { end, noted, again: true }, &written);
                    next.left.lost_answers -= 1;
                    self.fault(What::Settles(number, end, Settled::Written, Heard::Lost), next);
                }
            }
            None => {
                let is_denied = again && self.protocol.lacks(Variant::OwnSettlementUnknown);
                let said = if next.is_some() || is_denied { Said::LeaseLost } else { said };
                let settled = if said == Said::LeaseLost { Settled::Refused } else { Settled::WasWritten };
                let mut next = self.stepped(number, Step::Answering(reply(end, said)), self.world);
                let is_done_by_me =
                    end == End::Done && found.is_some_and(|kept| kept.owner() == Some(me) && kept.status() == Status::Succeeded);
                if is_done_by_me && said == Said::LeaseLost {
                    next.breaks(Breach::DeniedItself);
                }
                self.normal(What::Settles(number, end, settled, Heard::Yes), next);
            }
        }
    }

    fn settlement(&self, token: Token, end: End, noted: bool) -> Ask {
        let rules = self.protocol.rules();
        match end {
            End::Done => Ask::Complete(token),
            End::Failed(way, known) => Ask::Fail { token, way, known, noted, rules },
            // As the consumer gives a job back whose receipt is another's: stopped wherever it stood.
            End::ReceiptLost => {
                let known = if self.protocol.scope.policy == Policy::Hold { Known::NotTried } else { Known::MayBeDone };
                Ask::Fail { token, way: Way::Defer, known, noted, rules }
            }
        }
    }
}

/// What a settled job means for its message.
fn reply(end: End, said: Said) -> Reply {
    match said {
        Said::InDoubt => Reply::GiveUp,
        _ if end == End::ReceiptLost => Reply::Leave,
        Said::Done(Status::Succeeded) => Reply::Acknowledge,
        Said::Done(Status::RetryScheduled) => Reply::ComeBack,
        Said::Dead => Reply::GiveUp,
        _ => Reply::Leave,
    }
}
