//! The settings that only this consumer has.

use std::time::Duration;

use ikkai::{callback::Reach, config::Reader};

use crate::courier::{MAX_BODY_TIME, body_time};

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
            provider_timeout: read_provider_timeout(reader),
            reach: if cfg!(feature = "local-callbacks") { Reach::Loopback } else { Reach::Public },
        }
    }
}

/// What a delivery needs besides the receiver's answer: the claim, the ended job's record, now and then the secret.
const TIME_BEFORE_CALLING: Duration = Duration::from_millis(500);

/// A delivery that does not fit into the time that a handler has would come back for ever without a try. The kit keeps at most a quarter of an
/// invocation for settling, so what fits into the other three quarters fits.
fn read_provider_timeout(reader: &mut Reader) -> Duration {
    const NAME: &str = "IKKAI_PROVIDER_TIMEOUT_MS";
    let timeout = reader.millis(NAME, 5_000, 100..=30_000);
    // Required of every consumer and checked there; a problem is not to be reported twice.
    let function_timeout = reader.optional_text("IKKAI_FUNCTION_TIMEOUT_SECONDS").and_then(|text| text.parse().ok());
    if let Some(seconds) = function_timeout.filter(|seconds| (1..=5_400).contains(seconds)) {
        let room = Duration::from_secs(seconds) * 3 / 4 - TIME_BEFORE_CALLING;
        if timeout + body_time(timeout) > room {
            // The longest one that fits with the time for its body.
            let limit = room.saturating_sub(MAX_BODY_TIME).max(room * 10 / 11);
            reader.problem(
                NAME,
                format!(
                    "is {} ms, which leaves no time for anything else in a function that may run for {seconds} s; \
                     set it to {} ms at most, or give the function more time",
                    timeout.as_millis(),
                    limit.as_millis(),
                ),
            );
        }
    }
    timeout
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
