//! The changes, and what an operator has to know about each before it is made.

use crate::deployment::DeployedConsumer;
use crate::doctor::facts::{ConsumerFacts, Fact, MappingFacts, SettingsFacts};
use crate::doctor::time;

/// What is changed at a consumer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// It receives no more messages.
    Pause,
    /// It receives messages again.
    Resume,
    /// So many invocations at a time.
    Concurrency(u32),
}

impl Change {
    /// The verb of questions and answers.
    pub(super) fn verb(self) -> String {
        match self {
            Self::Pause => "pause".to_owned(),
            Self::Resume => "resume".to_owned(),
            Self::Concurrency(most) => format!("allow {most} invocations at a time of"),
        }
    }

    /// Whether it was asked for already, done or under way.
    pub(super) fn was_asked_for(self, mapping: &MappingFacts) -> bool {
        match self {
            Self::Pause => matches!(mapping.state.as_str(), "Disabled" | "Disabling"),
            Self::Resume => matches!(mapping.state.as_str(), "Enabled" | "Enabling"),
            Self::Concurrency(most) => mapping.max_concurrency == Some(u64::from(most)),
        }
    }

    /// Whether it has taken effect.
    pub(super) fn is_done(self, mapping: &MappingFacts) -> bool {
        let settled = matches!(mapping.state.as_str(), "Enabled" | "Disabled");
        settled && self.was_asked_for(mapping)
    }

    /// What it means for this consumer.
    pub(super) fn meaning(self, consumer: &DeployedConsumer, facts: &ConsumerFacts, mapping: &MappingFacts) -> Vec<String> {
        match self {
            Self::Pause => pausing(consumer, facts),
            Self::Resume => resuming(consumer, facts, mapping),
            Self::Concurrency(most) => bounding(consumer, facts, u64::from(most)),
        }
    }
}

fn pausing(consumer: &DeployedConsumer, facts: &ConsumerFacts) -> Vec<String> {
    let retention = match &facts.queue {
        Fact::Known(queue) => format!("{} after it was sent", time(queue.retention_seconds)),
        Fact::Unknown(_) => "when the queue's retention is over".to_owned(),
    };
    let timeout = match &facts.function {
        Fact::Known(function) => format!(", which may take {}", time(function.timeout_seconds)),
        Fact::Unknown(_) => String::new(),
    };
    let mut lines = vec![
        format!(
            "messages wait in {} and nothing is lost; but retention goes on, and removes a message {retention}",
            consumer.queue
        ),
        format!("what was received already is worked off{timeout}"),
        drift(&format!("{}ConsumerEnabled=false", consumer.prefix)),
    ];
    if facts.reserved == Fact::Known(Some(0)) {
        lines.push(format!(
            "its reserved concurrency of 0 is no pause: messages have gone on using up their receives; look into {}",
            consumer.dead_letter_queue
        ));
    }
    lines
}

fn resuming(consumer: &DeployedConsumer, facts: &ConsumerFacts, mapping: &MappingFacts) -> Vec<String> {
    let waiting = match &facts.queue {
        Fact::Known(queue) => format!("about {} messages wait", queue.visible),
        Fact::Unknown(_) => "how many messages wait is not known".to_owned(),
    };
    let most = match mapping.max_concurrency {
        Some(most) => format!("up to {most} invocations at a time"),
        None => "an unbounded number of invocations at a time".to_owned(),
    };
    let mut lines = vec![format!("{waiting}; they are worked off by {most}")];
    if facts.reserved == Fact::Known(Some(0)) {
        lines.push(format!(
            "WARNING: the reserved concurrency of {} is 0: every message will use up its receives and be dead-lettered untried; \
             `aws lambda delete-function-concurrency` first",
            consumer.function
        ));
    }
    lines.push(drift(&format!("{}ConsumerEnabled=true", consumer.prefix)));
    lines
}

fn bounding(consumer: &DeployedConsumer, facts: &ConsumerFacts, most: u64) -> Vec<String> {
    let mut lines = Vec::new();
    if let Fact::Known(Some(reserved)) = facts.reserved
        && reserved < most
    {
        lines.push(format!(
            "WARNING: {reserved} are reserved for {}: what is beyond is throttled, and uses up receives without being worked on",
            consumer.function
        ));
    }
    if let Fact::Known(function) = &facts.function
        && let Fact::Known(settings) = &function.settings
    {
        lines.extend(rate(settings, most));
    }
    lines.push(drift(&format!("{}MaxConcurrency={most} (the parameter takes certain steps)", consumer.prefix)));
    lines
}

/// The function splits its provider's rate by the concurrency that it was told, which this does not change.
fn rate(settings: &SettingsFacts, most: u64) -> Option<String> {
    let (rate, told) = (settings.provider_rate_per_second?, settings.max_concurrency.unwrap_or(2).max(1));
    (most > told).then(|| {
        let all = rate.saturating_mul(most) / told;
        format!(
            "WARNING: the function splits its {rate} calls a second to the provider by {told} (IKKAI_MAX_CONCURRENCY): with \
             {most} they are up to {all}"
        )
    })
}

fn drift(parameter: &str) -> String {
    format!(
        "the template does not know of it: it stays until it is changed back, or until a deployment changes the mapping; for \
         good: parameter {parameter}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::facts::SettingsFacts;

    #[test]
    fn a_provider_rate_that_would_be_exceeded_is_said() {
        let settings = SettingsFacts { provider_rate_per_second: Some(10), max_concurrency: Some(2), ..SettingsFacts::default() };
        let words = rate(&settings, 20).unwrap();
        assert!(words.contains("10 calls") && words.contains("up to 100"), "{words}");
        assert_eq!(rate(&settings, 2), None);
        assert_eq!(rate(&SettingsFacts { provider_rate_per_second: None, ..settings }, 20), None);
    }
}
