//! The consumers' handlers: mails and charges, by a script that the dice write.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use ikkai::consumer::{Done, Failure, Handler, JobContext};
use ikkai::idempotency::EffectPolicy;
use ikkai::job::{BillingCharge, EmailSend, Job, JobPayload, ReferenceId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::actor::Actor;
use crate::fault::Fault;
use crate::mutant::Mutant;
use crate::provider::{self, Heard, Provider};
use crate::stage::Line;
use crate::world::World;

/// How long a provider may take.
const PROVIDER_TIMEOUT: Duration = Duration::from_secs(5);

/// A mail as a newer program writes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewerMail {
    delivery_id: ReferenceId,
    template_id: ReferenceId,
    user_id: ReferenceId,
}

impl JobPayload for NewerMail {
    const TYPE: &'static str = EmailSend::TYPE;
    const SCHEMA_VERSION: u32 = EmailSend::SCHEMA_VERSION + 1;
    const DATA: ikkai::job::DataUse = EmailSend::DATA;
}

/// Which line a payload belongs to.
pub(crate) trait OfLine: JobPayload {
    const LINE: Line;
}

impl OfLine for EmailSend {
    const LINE: Line = Line::Mail;
}

impl OfLine for NewerMail {
    const LINE: Line = Line::Mail;
}

impl OfLine for BillingCharge {
    const LINE: Line = Line::Charge;
}

/// A handler in one sandbox.
pub(crate) struct Scripted<P> {
    pub(crate) world: Arc<World>,
    pub(crate) actor: Arc<Actor>,
    pub(crate) payload: PhantomData<fn() -> P>,
}

impl<P: OfLine> Handler for Scripted<P> {
    type Payload = P;

    fn effect_policy(&self) -> EffectPolicy {
        let plan = &self.world.plan;
        match P::LINE {
            Line::Mail => EffectPolicy::Hold,
            Line::Charge => EffectPolicy::Rerun { idempotent_for: Some(plan.key_window), looks_up: plan.looks_up },
        }
    }

    async fn handle(&self, job: &Job<P>, context: &JobContext) -> Result<Done, Failure> {
        let world = &self.world;
        world.tell(&self.actor.name, || format!("handler of {}, attempt {}", job.id, context.attempt()));
        tokio::time::sleep(world.some_time(Duration::from_millis(1), Duration::from_millis(100))).await;
        self.before_effect(context).await?;
        match P::LINE {
            Line::Mail => context.begin_effect(PROVIDER_TIMEOUT).await?,
            Line::Charge if self.is_past_memory(context) => {
                // The provider has forgotten the key: whoever asks it again has to look first.
                if world.provider(P::LINE).effects(&job.id) > 0 {
                    return Ok(Done::new());
                }
            }
            Line::Charge => {}
        }
        let asked = provider::ask(world, &self.actor, P::LINE, &job.id);
        let heard = tokio::time::timeout(PROVIDER_TIMEOUT, asked).await.unwrap_or(Heard::Unclear);
        if heard == Heard::Done {
            self.after_effect().await;
        }
        self.answer(heard)
    }
}

impl<P: OfLine> Scripted<P> {
    fn is_past_memory(&self, context: &JobContext) -> bool {
        context.first_effect_age().is_some_and(|age| age > self.world.plan.key_window)
    }

    /// What goes wrong before anything irreversible.
    async fn before_effect(&self, context: &JobContext) -> Result<(), Failure> {
        let world = &self.world;
        if !world.is_troubled() || !world.chance(world.plan.handlers_in_trouble) {
            return Ok(());
        }
        match world.roll(|dice| dice.u8(0..6)) {
            0 if world.plan.allows(Fault::HandlerPanicked) => {
                world.happened(Fault::HandlerPanicked);
                // Without the hook, which would write to the console.
                std::panic::resume_unwind(Box::new("scripted"))
            }
            1 if world.plan.allows(Fault::HandlerTooSlow) => {
                world.happened(Fault::HandlerTooSlow);
                tokio::time::sleep(world.plan.timeout * 2).await;
                Ok(())
            }
            2 if context.progress().is_none() => {
                context.save_progress(json!(context.attempt())).await?;
                Err(Failure::unfinished())
            }
            kind if world.plan.allows(Fault::HandlerFailed) => {
                world.happened(Fault::HandlerFailed);
                Err(match kind {
                    3 => Failure::permanent("scripted", "the script says never").surely_not_done(),
                    4 => Failure::defer("scripted", "the script says later", None).surely_not_done(),
                    _ => Failure::retry("scripted", "the script says again").surely_not_done(),
                })
            }
            _ => Ok(()),
        }
    }

    /// What goes wrong once the effect happened.
    async fn after_effect(&self) {
        let world = &self.world;
        if world.is_troubled() && world.chance(world.plan.handlers_in_trouble / 4) {
            if world.plan.allows(Fault::HandlerPanicked) && world.roll(fastrand::Rng::bool) {
                world.happened(Fault::HandlerPanicked);
                std::panic::resume_unwind(Box::new("scripted"));
            }
            if world.plan.allows(Fault::HandlerTooSlow) {
                world.happened(Fault::HandlerTooSlow);
                tokio::time::sleep(world.plan.timeout * 2).await;
            }
        }
    }

    fn answer(&self, heard: Heard) -> Result<Done, Failure> {
        match heard {
            Heard::Done => Ok(Done::new().provider_ref("effect")),
            Heard::Busy => {
                // Some providers ask for patience beyond their own memory of keys.
                let plan = &self.world.plan;
                let long = self.world.chance(40).then(|| plan.key_window + Provider::MARGIN + Duration::from_secs(600));
                Err(Failure::defer("busy", "the provider is busy", long).surely_not_done())
            }
            Heard::Refused => Err(Failure::retry("refused", "the provider failed and did nothing").surely_not_done()),
            Heard::Unclear if self.world.is_mutant(Mutant::EffectRepeated) => {
                Err(Failure::retry("unclear", "taken for a refusal").surely_not_done())
            }
            Heard::Unclear => Err(Failure::ambiguous("unclear", "nobody knows what the provider did")),
        }
    }
}
