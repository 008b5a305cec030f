//! What each known-bad protocol lacks, why the rule is there, and where its absence shows.

use crate::asking::Policy;
use crate::property::Property;
use crate::scope::{BASE, Budget, NOTHING, Scope};
use crate::variant::Variant;

/// A protocol that lacks a rule.
#[derive(Debug, Clone, Copy)]
pub struct Flaw {
    /// Its name on the command line.
    pub name: &'static str,
    /// The rule that it lacks.
    pub rule: &'static str,
    /// Why the rule is there.
    pub why: &'static str,
    /// What does not hold without it.
    pub breaks: Property,
    /// A small scope in which that shows.
    pub scope: Scope,
}

impl Variant {
    /// What is known about it.
    pub const fn flaw(self) -> Flaw {
        let (name, rule, why, breaks, scope) = match self {
            Self::UnfencedComplete => (
                "unfenced-complete",
                "A settlement names the lease it is made under.",
                "A worker that was frozen past its lease wakes up and settles a job that another worker is running by then: the one's failure becomes the other's, \
                 and the other's success finds no job to complete.",
                Property::StrangersChangeNothing,
                one(Budget { overruns: 1, ..NOTHING }, 2),
            ),
            Self::KeyByMessageId => (
                "key-by-message-id",
                "A job's id comes from the caller's key, never from the message.",
                "The same job travels in several messages: senders repeat themselves, and each redrive and renewal makes a new message id.",
                Property::OneEffect,
                one(NOTHING, 2),
            ),
            Self::NoAttemptCheck => (
                "no-attempt-check",
                "The claim itself asks whether attempts are left.",
                "A job that kills its worker never comes to a settlement that could count. Only its starts can be counted, and only the claim sees them.",
                Property::AttemptsAreBounded,
                one(Budget { crashes: 2, ..NOTHING }, 1),
            ),
            Self::RepeatAfterUnclear => (
                "repeat-after-unclear",
                "What may have happened is in doubt; it is not tried again.",
                "An answer that is lost says nothing about the effect. Where twice is harm, somebody has to look at the provider first.",
                Property::OneEffect,
                one(Budget { unclear_effects: 1, ..NOTHING }, 1),
            ),
            Self::NoWindow => (
                "no-key-window",
                "A repetition under a provider's key is made within the provider's memory of keys.",
                "Providers forget keys (Stripe after a day). Who repeats later makes a second effect under the same key.",
                Property::OneEffect,
                Scope { policy: Policy::Keyed, ..one(Budget { unclear_effects: 1, windows: 1, ..NOTHING }, 1) },
            ),
            Self::OwnTokenIsEnough => (
                "own-token-is-enough",
                "A repeated claim goes on where it finds its own token and the job is running.",
                "The token stays when a job ends. If the claim's answer was late, the job may have been given up under this token.",
                Property::HandlersOwnTheirJob,
                Scope { max_attempts: 1, ..one(Budget { lost_answers: 1, overruns: 1, ..NOTHING }, 2) },
            ),
            Self::OwnSettlementUnknown => (
                "own-settlement-unknown",
                "A repeated settlement that finds its token and the status it wanted has succeeded.",
                "Otherwise a worker whose answer was lost reports a job that is done as lost, and its message comes back for nothing.",
                Property::SettlementsAreRecognised,
                one(Budget { lost_answers: 1, ..NOTHING }, 1),
            ),
            Self::NoMargin => (
                "no-margin",
                "Only a message that was sent more than a minute after the death puts a dead job back.",
                "A send that raced with the death, or that an SDK repeated, is no wish to run the job again; clocks differ, too.",
                Property::DeadStayDead,
                one(NOTHING, 2),
            ),
            Self::NoRenewal => (
                "no-renewal",
                "A message whose receives run low is sent again as a fresh copy.",
                "Waiting costs receives and no attempts. Without copies the dead-letter queue fills with jobs that nobody gave up, and an outage that is long enough sends all of them there.",
                Property::NothingUntriedIsDeadLettered,
                one(NOTHING, 2),
            ),
            Self::TtlOnUnfinished => (
                "ttl-on-unfinished",
                "Only what ended well, or was taken back, has an end.",
                "When the record of a job in doubt goes, the next delivery finds no record and runs it as a new job.",
                Property::OneEffect,
                one(Budget { unclear_effects: 1, expiries: 1, ..NOTHING }, 1),
            ),
            Self::DeleteAfterUnclearSend => (
                "delete-after-unclear-send",
                "The producer never deletes its record, whatever became of the send.",
                "The message may be out although the send seemed to fail. It would find no record, and the private data that only the record held would be gone.",
                Property::DataStay,
                Scope { deliveries: 0, requests: 1, ..one(Budget { lost_answers: 1, ..NOTHING }, 1) },
            ),
            Self::ResetAfterSend => (
                "reset-after-send",
                "The record is put back before the message is sent.",
                "The message may be faster than the reset. It finds a dead job, uses its receives up, and is in the dead-letter queue again when the job becomes ready.",
                Property::PutBackRuns,
                Scope { max_receives: 1, ..one(NOTHING, 1) },
            ),
            Self::ResetWithoutGeneration => (
                "reset-without-generation",
                "A put-back names the generation that was looked at.",
                "Between look and write the job may have run again and died for another reason, which nobody has looked at.",
                Property::StaleWishesChangeNothing,
                Scope { max_receives: 1, max_generations: 2, ..one(Budget { native_redrives: 1, ..NOTHING }, 2) },
            ),
            Self::DeleteBeforeSend => (
                "delete-before-send",
                "A dead letter is deleted only when its copy is confirmed.",
                "A redrive that dies in between has taken the job's only message away.",
                Property::NothingDisappears,
                Scope { max_receives: 1, ..one(Budget { crashes: 1, ..NOTHING }, 1) },
            ),
            Self::RedriveOnlyDead => (
                "redrive-only-dead",
                "The redrive deals with every status that a dead letter's job can have.",
                "Crashes use receives up as well: the message is in the dead-letter queue, and its job is waiting, running under a lease that is over, or has no record yet.",
                Property::EndIsReachable,
                Scope { max_receives: 1, ..one(Budget { crashes: 1, ..NOTHING }, 1) },
            ),
            Self::NoRebuild => (
                "no-rebuild",
                "A job without a message can be put back; its message is made from the record.",
                "Messages are purged, and retention removes them. What is left is a record that waits for ever.",
                Property::EndIsReachable,
                one(Budget { purges: 1, ..NOTHING }, 1),
            ),
            Self::ResolveReopens => (
                "resolve-reopens",
                "A resolution to run again makes the job dead as of now; then it can be redriven.",
                "Its message may be gone since the doubt began. A job that is ready at once waits for a message that nobody sends.",
                Property::NothingDisappears,
                one(Budget { unclear_effects: 1, purges: 1, ..NOTHING }, 1),
            ),
        };
        Flaw { name, rule, why, breaks, scope }
    }

    /// The variant of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|variant| variant.flaw().name == name)
    }
}

/// A small scope.
const fn one(budget: Budget, deliveries: u8) -> Scope {
    Scope { name: "variant", deliveries, budget, ..BASE }
}
