//! The settings that only this consumer has.

use std::time::Duration;

use ikkai::config::Reader;

use crate::{gateway::ApiUrl, key_window::KeyWindow};

/// Settings of the billing consumer, besides those that every consumer has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BillingSettings {
    /// `IKKAI_PAYMENT_API_URL`: where the provider is, `https://api.stripe.com` unless set. `http` only beside a local engine, to this
    /// machine.
    pub api_url: ApiUrl,
    /// `IKKAI_PAYMENT_SECRET_ID`: the secret in AWS Secrets Manager that holds the API key; name or ARN.
    pub secret_id: String,
    /// `IKKAI_PAYMENT_KEY_WINDOW_SECONDS`: how long the provider surely remembers an idempotency key, 23 h unless set.
    pub key_window: KeyWindow,
    /// `IKKAI_PROVIDER_TIMEOUT_MS`: how long the answer to one question to the provider may take, 10 s unless set.
    pub provider_timeout: Duration,
}

impl BillingSettings {
    /// Reads the settings; problems are collected in `reader`, and what could not be read holds a placeholder.
    pub fn read(reader: &mut Reader) -> Self {
        Self {
            api_url: read_api_url(reader),
            secret_id: reader.required_text("IKKAI_PAYMENT_SECRET_ID"),
            key_window: KeyWindow::new(reader.seconds(
                "IKKAI_PAYMENT_KEY_WINDOW_SECONDS",
                82_800,
                KeyWindow::MIN.as_secs()..=KeyWindow::MAX.as_secs(),
            )),
            // A charge is two questions: the customer's payment method, for which two requests share one time, then the payment.
            provider_timeout: reader.provider_timeout(10_000, 100..=60_000, |time| time / 2),
        }
    }
}

fn read_api_url(reader: &mut Reader) -> ApiUrl {
    const NAME: &str = "IKKAI_PAYMENT_API_URL";
    // Only beside a local engine are AWS calls, and so the key itself, kept on this machine.
    let local_engine =
        reader.optional_text("AWS_ENDPOINT_URL").is_some_and(|url| ApiUrl::parse(&url).is_ok_and(|url| url.is_loopback()));
    let text = reader.text(NAME, ApiUrl::STRIPE);
    match ApiUrl::parse(&text) {
        Ok(url) if url.is_encrypted() || local_engine => url,
        Ok(url) => {
            reader.problem(NAME, "must be an https URL: http is for a provider on this machine beside a local engine only");
            url
        }
        Err(error) => {
            reader.problem(NAME, error.to_string());
            ApiUrl::stripe()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<BillingSettings, Vec<String>> {
        let required = [("IKKAI_PAYMENT_SECRET_ID", "ikkai/payment-key"), ("IKKAI_FUNCTION_TIMEOUT_SECONDS", "30")];
        // A later value replaces an earlier one.
        let mut reader = Reader::from_pairs(required.iter().chain(variables).copied());
        let settings = BillingSettings::read(&mut reader);
        reader.finish(settings).map_err(|error| error.problems().iter().map(ToString::to_string).collect())
    }

    #[test]
    fn only_the_secret_is_required() {
        let expected = BillingSettings {
            api_url: ApiUrl::stripe(),
            secret_id: "ikkai/payment-key".to_owned(),
            key_window: KeyWindow::new(Duration::from_secs(23 * 3_600)),
            provider_timeout: Duration::from_secs(10),
        };
        assert_eq!(read(&[]), Ok(expected));
    }

    #[test]
    fn every_problem_is_reported_at_once() {
        let problems = read(&[
            ("IKKAI_PAYMENT_SECRET_ID", ""),
            ("IKKAI_PAYMENT_API_URL", "ftp://api.example.com"),
            ("IKKAI_PAYMENT_KEY_WINDOW_SECONDS", "60"),
            ("IKKAI_PROVIDER_TIMEOUT_MS", "11001"),
        ])
        .unwrap_err();
        let names: Vec<&str> = problems.iter().filter_map(|problem| problem.split([' ', ':']).next()).collect();
        assert_eq!(
            names,
            ["IKKAI_PAYMENT_API_URL", "IKKAI_PAYMENT_SECRET_ID", "IKKAI_PAYMENT_KEY_WINDOW_SECONDS", "IKKAI_PROVIDER_TIMEOUT_MS"],
            "{problems:?}"
        );
    }

    #[test]
    fn an_unencrypted_provider_is_accepted_on_this_machine_beside_a_local_engine_only() {
        let (local, engine) = (("IKKAI_PAYMENT_API_URL", "http://127.0.0.1:8420"), ("AWS_ENDPOINT_URL", "http://127.0.0.1:4566"));
        assert!(read(&[local, engine]).is_ok());
        for refused in [
            &[local][..],
            &[local, ("AWS_ENDPOINT_URL", "https://dynamodb.eu-west-1.amazonaws.com")],
            &[engine, ("IKKAI_PAYMENT_API_URL", "http://api.example.com")],
        ] {
            assert_eq!(read(refused).unwrap_err().len(), 1, "{refused:?}");
        }
    }
}
