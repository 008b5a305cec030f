//! The consumers of the template.

/// A consumer of the stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consumer {
    /// `email.send`
    Email,
    /// `image.resize`
    Image,
    /// `billing.charge`
    Billing,
    /// `report.generate`
    Report,
    /// `webhook.deliver`
    Webhook,
    // ikkai new consumer: variant
}

impl Consumer {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::Email,
        Self::Image,
        Self::Billing,
        Self::Report,
        Self::Webhook,
        // ikkai new consumer: all
    ];

    /// What the template names its parts after.
    #[must_use]
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Email => "Email",
            Self::Image => "Image",
            Self::Billing => "Billing",
            Self::Report => "Report",
            Self::Webhook => "Webhook",
            // ikkai new consumer: prefix
        }
    }

    /// The type of its jobs.
    #[must_use]
    pub const fn job_type(self) -> &'static str {
        match self {
            Self::Email => "email.send",
            Self::Image => "image.resize",
            Self::Billing => "billing.charge",
            Self::Report => "report.generate",
            Self::Webhook => "webhook.deliver",
            // ikkai new consumer: job type
        }
    }

    /// Its short name, which operators and metrics use: `email`.
    #[must_use]
    pub fn name(self) -> String {
        self.prefix().to_ascii_lowercase()
    }

    /// The outputs of the template that name its function, its queue and its dead-letter queue.
    #[must_use]
    pub fn outputs(self) -> [String; 3] {
        ["ConsumerFunctionName", "QueueName", "DeadLetterQueueName"].map(|what| format!("{}{what}", self.prefix()))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_job_type_of_the_kit_has_one_consumer() {
        let types: Vec<_> = Consumer::ALL.iter().map(|consumer| consumer.job_type()).collect();
        assert_eq!(types.iter().copied().collect::<BTreeSet<_>>(), ikkai::job::names().collect::<BTreeSet<_>>());
        assert_eq!(types.len(), ikkai::job::names().count());
    }
}
