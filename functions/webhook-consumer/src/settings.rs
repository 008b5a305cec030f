//! The settings that only this consumer has.

use std::time::Duration;

use ikkai::{callback::Reach, config::Reader};

use crate::courier::MAX_BODY_TIME;

/// Settings of the webhook consumer, besides those that every consumer has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookSettings {
    /// `IKKAI_WEBHOOK_SECRET_ID`: the secret in Secrets Manager that callers' keys are made from.
    pub secret_id: String,
    /// `IKKAI_PROVIDER_TIMEOUT_MS`: how long one call of a receiver may take, from the look-up of its name to the head of its answer; 5 s unless
    /// set. Small, because whoever is slow holds up the others.
    pub provider_timeout: Duration,
    /// How far callbacks may reach: decided when the function is built, not by a setting.
    pub reach: Reach,
}

impl WebhookSettings {
    /// Reads the settings; problems are collected in `reader`, and what could not be read holds a placeholder.
    pub fn read(reader: &mut Reader) -> Self {
        Self {
            secret_id: reader.required_text("IKKAI_WEBHOOK_SECRET_ID"),
            provider_timeout: reader.provider_timeout(5_000, 100..=30_000, longest_timeout),
            reach: if cfg!(feature = "local-callbacks") { Reach::Loopback } else { Reach::Public },
        }
    }
}

/// The longest timeout that fits into `time` together with the time for the body of the answer.
fn longest_timeout(time: Duration) -> Duration {
    time.saturating_sub(MAX_BODY_TIME).max(time * 10 / 11)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::courier::body_time;

    fn read(variables: &[(&str, &str)]) -> Result<WebhookSettings, Vec<String>> {
        let required = [("IKKAI_WEBHOOK_SECRET_ID", "stack/webhook-signing"), ("IKKAI_FUNCTION_TIMEOUT_SECONDS", "30")];
        // A later value replaces an earlier one.
        let mut reader = Reader::from_pairs(required.iter().chain(variables).copied());
        let settings = WebhookSettings::read(&mut reader);
        reader.finish(settings).map_err(|error| error.problems().iter().map(ToString::to_string).collect())
    }

    #[test]
    fn only_the_secret_is_required() {
        let settings = read(&[]).unwrap();
        assert_eq!((settings.secret_id.as_str(), settings.provider_timeout), ("stack/webhook-signing", Duration::from_secs(5)));
        let reach = if cfg!(feature = "local-callbacks") { Reach::Loopback } else { Reach::Public };
        assert_eq!(settings.reach, reach);
    }

    #[test]
    fn every_problem_is_reported_at_once() {
        let problems = read(&[("IKKAI_WEBHOOK_SECRET_ID", ""), ("IKKAI_PROVIDER_TIMEOUT_MS", "21501")]).unwrap_err();
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(
            problems[0].starts_with("IKKAI_WEBHOOK_SECRET_ID") && problems[1].contains("set it to 21500 ms at most"),
            "{problems:?}"
        );
        assert!(read(&[("IKKAI_PROVIDER_TIMEOUT_MS", "21500")]).is_ok());

        let short = |timeout| read(&[("IKKAI_FUNCTION_TIMEOUT_SECONDS", "3"), ("IKKAI_PROVIDER_TIMEOUT_MS", timeout)]);
        assert!(short("1590").is_ok());
        assert!(short("1600").unwrap_err()[0].contains("set it to 1590 ms at most"));
    }

    #[test]
    fn the_longest_timeout_leaves_exactly_the_time_for_its_body() {
        for millis in [250, 1_750, 5_499, 5_500, 5_501, 22_000] {
            let time = Duration::from_millis(millis);
            let longest = longest_timeout(time);
            assert!(longest + body_time(longest) <= time, "{millis}");
            let longer = longest + Duration::from_millis(1);
            assert!(longer + body_time(longer) > time, "{millis}");
        }
    }
}
