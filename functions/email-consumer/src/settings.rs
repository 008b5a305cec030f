//! The settings that only this consumer has.

use std::time::Duration;

use ikkai::{config::Reader, idempotency::EffectPolicy};

use crate::address::Mailbox;

/// Settings of the e-mail consumer, besides those that every consumer has.
#[derive(Clone, Debug, PartialEq)]
pub struct EmailSettings {
    /// `IKKAI_CONTACTS_TABLE`: the table that users are looked up in.
    pub contacts_table: String,
    /// `IKKAI_EMAIL_FROM`: the sender, `shop@example.com` or `Shop <shop@example.com>`. Its domain is sent from in lower case and ASCII:
    /// permissions have to spell it so.
    pub from: Mailbox,
    /// `IKKAI_EMAIL_EFFECT_POLICY`: `hold` (the default) leaves a job in doubt when nobody knows whether its mail went out; `rerun`
    /// sends again, and now and then twice.
    pub effect_policy: EffectPolicy,
    /// `IKKAI_EMAIL_CONFIGURATION_SET`: the SES configuration set to send under.
    pub configuration_set: Option<String>,
    /// `IKKAI_PROVIDER_TIMEOUT_MS`: how long one call to SES may take, 5 s unless set.
    pub provider_timeout: Duration,
}

impl EmailSettings {
    /// Reads the settings; problems are collected in `reader`, and what could not be read holds a placeholder.
    pub fn read(reader: &mut Reader) -> Self {
        Self {
            contacts_table: reader.required_text("IKKAI_CONTACTS_TABLE"),
            from: read_sender(reader),
            effect_policy: reader.choice(
                "IKKAI_EMAIL_EFFECT_POLICY",
                &[("hold", EffectPolicy::Hold), ("rerun", EffectPolicy::RERUN)],
                EffectPolicy::Hold,
            ),
            configuration_set: read_configuration_set(reader),
            provider_timeout: reader.provider_timeout(5_000, 100..=60_000, |time| time),
        }
    }
}

fn read_sender(reader: &mut Reader) -> Mailbox {
    const NAME: &str = "IKKAI_EMAIL_FROM";
    let text = reader.required_text(NAME);
    Mailbox::parse(&text).unwrap_or_else(|error| {
        if !text.is_empty() {
            reader.problem(NAME, format!("is no sender: {error}"));
        }
        Mailbox::parse("unset@example.invalid").expect("a mailbox")
    })
}

/// The characters and the length of a name: <https://docs.aws.amazon.com/ses/latest/APIReference-V2/API_CreateConfigurationSet.html>.
fn read_configuration_set(reader: &mut Reader) -> Option<String> {
    const NAME: &str = "IKKAI_EMAIL_CONFIGURATION_SET";
    let name = reader.optional_text(NAME)?;
    let is_name = name.len() <= 64 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    if !is_name {
        reader.problem(NAME, "is no name of a configuration set; use up to 64 letters, digits, hyphens and underscores");
    }
    Some(name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const REQUIRED: [(&str, &str); 3] = [
        ("IKKAI_CONTACTS_TABLE", "contacts"),
        ("IKKAI_EMAIL_FROM", "Shop <shop@example.com>"),
        ("IKKAI_FUNCTION_TIMEOUT_SECONDS", "30"),
    ];

    fn read(variables: &[(&str, &str)]) -> Result<EmailSettings, Vec<String>> {
        // A later value replaces an earlier one.
        let mut reader = Reader::from_pairs(REQUIRED.iter().chain(variables).copied());
        let settings = EmailSettings::read(&mut reader);
        reader.finish(settings).map_err(|error| error.problems().iter().map(ToString::to_string).collect())
    }

    #[test]
    fn only_the_table_and_the_sender_are_required() {
        let expected = EmailSettings {
            contacts_table: "contacts".to_owned(),
            from: Mailbox::parse("Shop <shop@example.com>").unwrap(),
            effect_policy: EffectPolicy::Hold,
            configuration_set: None,
            provider_timeout: Duration::from_secs(5),
        };
        assert_eq!(read(&[]), Ok(expected));
    }

    #[test]
    fn everything_can_be_set() {
        let settings = read(&[
            ("IKKAI_EMAIL_FROM", "mail@example.com"),
            ("IKKAI_EMAIL_EFFECT_POLICY", "rerun"),
            ("IKKAI_EMAIL_CONFIGURATION_SET", "my-set_1"),
            ("IKKAI_PROVIDER_TIMEOUT_MS", "22000"),
        ])
        .unwrap();
        assert_eq!(settings.from, Mailbox::parse("mail@example.com").unwrap());
        assert_eq!(settings.effect_policy, EffectPolicy::RERUN);
        assert_eq!(settings.configuration_set.as_deref(), Some("my-set_1"));
        assert_eq!(settings.provider_timeout, Duration::from_secs(22));
    }

    #[test]
    fn every_problem_is_reported_at_once() {
        let problems = read(&[
            ("IKKAI_CONTACTS_TABLE", ""),
            ("IKKAI_EMAIL_FROM", "shop.example.com"),
            ("IKKAI_EMAIL_EFFECT_POLICY", "maybe"),
            ("IKKAI_EMAIL_CONFIGURATION_SET", "my set"),
            ("IKKAI_PROVIDER_TIMEOUT_MS", "22001"),
        ]);
        assert_eq!(
            problems.unwrap_err(),
            [
                "IKKAI_CONTACTS_TABLE: is not set; set it to a text",
                "IKKAI_EMAIL_FROM: is no sender: the address has no @",
                "IKKAI_EMAIL_EFFECT_POLICY: is none of the known values; set it to one of: hold, rerun",
                "IKKAI_EMAIL_CONFIGURATION_SET: is no name of a configuration set; use up to 64 letters, digits, hyphens and \
                 underscores",
                "IKKAI_PROVIDER_TIMEOUT_MS: is 22001 ms, which leaves a job too little time in a function that may run for 30 s; \
                 set it to 22000 ms at most, or give the function more time",
            ]
        );
    }

    /// The template's role may send as the address that its parameter spells, for the identity of its domain: an address that is sent
    /// from in another spelling is denied.
    #[test]
    fn every_sender_that_the_template_takes_is_sent_from_as_it_is_written() {
        let template = include_str!("../../../infra/template.yaml");
        let parameter = template.split_once("\n  EmailFrom:\n").expect("the parameter").1;
        let pattern = parameter.split_once("AllowedPattern: '^").expect("its pattern").1;
        let pattern = pattern.split_once("$'\n").expect("the end of its pattern").0.replace("''", "'");
        let senders = proptest::string::string_regex(&pattern).expect("a regular expression");
        let taken = std::cell::Cell::new(0);
        // Most that are made up are longer than an address may be.
        proptest!(ProptestConfig::with_cases(500), |(sender in senders)| {
            if let Ok(mailbox) = Mailbox::parse(&sender) {
                prop_assert_eq!(mailbox.address.as_str(), sender);
                taken.set(taken.get() + 1);
            }
        });
        assert!(taken.get() > 0, "some of the template's senders are taken by the function");
    }

    #[test]
    fn a_missing_sender_is_one_problem() {
        assert_eq!(read(&[("IKKAI_EMAIL_FROM", " ")]).unwrap_err(), ["IKKAI_EMAIL_FROM: is not set; set it to a text"]);
    }
}
