//! What becomes of a job of which nobody knows whether it had its effect.

use clap::ValueEnum;

/// The policy that the new consumer is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Effect {
    /// Twice is harm: what is unclear waits for an operator.
    Hold,
    /// Twice is as good as once: what is unclear is done again.
    Rerun,
}

impl Effect {
    /// What the new files say about it, by the placeholders' names.
    pub(super) const fn texts(self) -> [(&'static str, &'static str); 8] {
        match self {
            Self::Hold => [
                ("effect_import", ""),
                ("effect_policy", ""),
                (
                    "announce",
                    "        // From here on an answer that is lost leaves the job in doubt, and somebody has to look.\n        context.begin_effect(self.provider_timeout).await?;\n",
                ),
                ("handler_doc", "announces the effect, calls the provider once, and tells what its answer means."),
                ("silent_test", include_str!("files/silent.hold.rs.txt")),
                ("tests_doc", "what may have been done is not done again."),
                (
                    "readme_announce",
                    "`begin_effect`: from here on a job whose answer is lost ends in doubt and is not tried again (policy `hold`).",
                ),
                ("readme_silent", "in doubt, `provider_silent`"),
            ],
            Self::Rerun => [
                ("effect_import", "    idempotency::EffectPolicy,\n"),
                (
                    "effect_policy",
                    "    /// The provider knows a repetition by its key.\n    fn effect_policy(&self) -> EffectPolicy {\n        EffectPolicy::RERUN\n    }\n\n",
                ),
                (
                    "announce",
                    "        // A call that the deadline cuts off is made again, so none is begun without time for its answer.\n        if context.remaining() < self.provider_timeout {\n            return Err(Failure::no_time());\n        }\n",
                ),
                ("handler_doc", "calls the provider, under the same key in every try, and tells what its answer means."),
                ("silent_test", include_str!("files/silent.rerun.rs.txt")),
                ("tests_doc", "what may have been done is asked for again under the same key."),
                (
                    "readme_announce",
                    "Where too little time is left for an answer, the job is given back. Otherwise it may be tried several times (policy `rerun`): the provider must know a repetition by its key.",
                ),
                ("readme_silent", "tried again, in the end in doubt"),
            ],
        }
    }
}
