//! Time: leases, windows and records that end. Each at any moment.

use ikkai::idempotency::Status;

use crate::asking::Policy;
use crate::moves::Moves;
use crate::times::{self, Passing};
use crate::variant::Variant;
use crate::what::What;
use crate::world::{Operator, Request, Step, World};

impl Moves<'_> {
    /// What time does.
    pub fn of_time(&mut self) {
        for key in [0, 1] {
            self.lease_ends(key);
        }
        let Some(kept) = self.world.record(0) else { return };
        let record = kept.record();
        if record.status == Status::Accepted && times::send_lease_holds(record) {
            let next = self.later(0, Passing::SendLeaseEnds);
            if kept.sender().is_some_and(|token| self.world.is_held(token)) {
                self.overrun(What::SendLeaseEnds, next);
            } else {
                self.normal(What::SendLeaseEnds, next);
            }
        }
        if record.status == Status::Accepted && times::was_just_sent(record) {
            self.normal(What::MinutePasses, self.later(0, Passing::MinutePasses));
        }
        self.window_passes();
        self.record_expires();
    }

    fn later(&self, key: u8, passing: Passing) -> World {
        let mut next = *self.world;
        let record = &mut next.records[usize::from(key)];
        *record = record.map(|kept| kept.after(passing));
        next
    }

    fn overrun(&mut self, what: What, next: World) {
        if self.world.left.overruns > 0 {
            let mut next = next;
            next.left.overruns -= 1;
            self.fault(what, next);
        }
    }

    fn lease_ends(&mut self, key: u8) {
        let Some(kept) = self.world.record(key) else { return };
        if kept.status() != Status::Running || kept.record().lease_is_over(times::NOW) {
            return;
        }
        let next = self.later(key, Passing::LeaseEnds);
        if kept.owner().is_some_and(|token| self.world.is_held(token)) {
            self.overrun(What::LeaseEnds, next);
        } else {
            self.normal(What::LeaseEnds, next);
        }
    }

    /// The record's window ends first, because it began before the provider's did. Handlers are bounded by far shorter times, so none that was
    /// started within the window is at work when the provider forgets.
    fn window_passes(&mut self) {
        let Some(kept) = self.world.record(0) else { return };
        if self.protocol.scope.policy == Policy::Hold {
            return;
        }
        if self.world.left.windows > 0 && kept.record().first_effect_at.is_some() && !times::window_is_over(kept.record()) {
            let mut next = self.later(0, Passing::WindowPasses);
            next.left.windows -= 1;
            // The same moment stands in what somebody has read.
            if let Operator::Resetting { view, .. } = &mut next.operator {
                *view = if view.record().first_effect_at.is_some() { view.after(Passing::WindowPasses) } else { *view };
            }
            for worker in &mut next.workers {
                if let Step::Taking(Some(view), _) = &mut worker.step {
                    *view = if view.record().first_effect_at.is_some() { view.after(Passing::WindowPasses) } else { *view };
                }
            }
            self.normal(What::WindowPasses, next);
        }
        let is_over = times::window_is_over(kept.record()) || self.is_unnoted();
        if self.world.memory.key_is_known && is_over && self.world.workers_rest() {
            let mut next = *self.world;
            next.memory.key_is_known = false;
            self.normal(What::ProviderForgets, next);
        }
    }

    /// A variant's claims note no first try; the provider forgets all the same.
    fn is_unnoted(&self) -> bool {
        self.protocol.lacks(Variant::NoWindow) && self.world.left.windows > 0
    }

    /// A finished record outlives its messages: it is kept for both queues' retentions and a margin. Then the key is free again.
    fn record_expires(&mut self) {
        let Some(kept) = self.world.record(0) else { return };
        if self.world.left.expiries == 0 || !times::will_expire(kept.record()) || !self.world.workers_rest() {
            return;
        }
        let mut next = self.later(0, Passing::RecordExpires);
        next.left.expiries -= 1;
        if self.protocol.lacks(Variant::TtlOnUnfinished) && kept.is_unended() {
            return self.normal(What::Expires, next);
        }
        let at_rest = |request: &Request| matches!(request, Request::New | Request::Answered);
        if self.world.has_message() || self.world.operator != Operator::Idle || !self.world.requests.iter().all(at_rest) {
            return;
        }
        next.memory.effects_left = 1;
        next.memory.key_is_known = false;
        next.memory.was_told = false;
        next.memory.has_data = false;
        self.normal(What::Expires, next);
    }
}
