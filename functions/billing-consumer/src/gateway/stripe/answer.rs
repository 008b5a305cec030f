//! An answer of the API, and what its status says before anybody looks at a payment.

use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use super::{super::GatewayError, payment_intent::PaymentIntent};

/// An answer, read to its end.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// The provider repeats what it answered the first time under the same key.
    pub(super) is_repeated: bool,
    pub(super) retry_after: Option<Duration>,
    pub(super) body: Bytes,
}

/// The error object: <https://docs.stripe.com/api/errors>. Its `message` is left alone, it is written for people and about them.
#[derive(Debug, Deserialize)]
pub(super) struct ApiError {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    code: Option<String>,
    #[serde(default)]
    decline_code: Option<String>,
    #[serde(default)]
    pub(super) payment_intent: Option<PaymentIntent>,
}

#[derive(Deserialize)]
struct ErrorBody {
    error: ApiError,
}

impl Answer {
    /// The body, as far as it can be read.
    pub(super) fn json<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(&self.body).ok()
    }

    fn error(&self) -> Option<ApiError> {
        self.json::<ErrorBody>().map(|body| body.error)
    }

    /// An answer to a question. Whatever it is, it charged nothing.
    pub(super) fn of_reading(self) -> Result<Self, GatewayError> {
        match self.status {
            200..=299 | 404 => Ok(self),
            401 => Err(KEY_REFUSED),
            403 => Err(self.forbidden()),
            429 => Err(GatewayError::Busy { retry_after: self.retry_after }),
            _ => Err(GatewayError::Unavailable { code: "provider_error" }),
        }
    }

    /// An answer to a request to charge that is no payment.
    ///
    /// Which statuses mean what: <https://docs.stripe.com/api/errors> and <https://docs.stripe.com/error-low-level>.
    pub(super) fn refusal(&self) -> Result<ApiError, GatewayError> {
        match self.status {
            401 => return Err(KEY_REFUSED),
            // Too many requests, or another one holds a lock on the customer. Neither was carried out.
            429 => return Err(GatewayError::Busy { retry_after: self.retry_after }),
            // Another request under this key is being carried out: an earlier one of ours.
            409 => return Err(GatewayError::Unknown { code: "charge_in_progress" }),
            // What became of the request is unknown, says the provider: <https://docs.stripe.com/error-low-level#server-errors>. Nor do a
            // timeout (408), a failure behind the provider (424) and a wish to send it later (425) say that it was not carried out.
            408 | 424 | 425 | 500.. if self.is_repeated => {
                return Err(GatewayError::KeyUnusable { code: "provider_error_repeated" });
            }
            408 | 424 | 425 | 500.. => return Err(GatewayError::Unknown { code: "provider_error" }),
            _ => {}
        }
        // What is not written by the provider says nothing about what the provider did.
        let error = self.error().ok_or(GatewayError::Unknown { code: "provider_answer_unreadable" })?;
        match self.status {
            402 => Ok(error),
            403 => Err(self.forbidden()),
            // Other parameters under a known key: something was asked for before.
            400 if error.kind == "idempotency_error" => Err(GatewayError::KeyUnusable { code: "idempotency_key_reused" }),
            400..=499 => Err(GatewayError::Refused { reason: error.reason(), repeated: self.is_repeated }),
            _ => Err(GatewayError::Unknown { code: "provider_answer_unreadable" }),
        }
    }

    /// A 403 is the key's fault, and so every job's, where it says so: "The provided key … does not have the required permissions"
    /// (<https://github.com/stripe/stripe-node/issues/2246>). That stands in the message alone, which is read for it and not kept.
    fn forbidden(&self) -> GatewayError {
        const OF_THE_KEY: [&str; 4] = ["provided key", "api key", "api_key", "required permissions"];
        let body: Value = self.json().unwrap_or_default();
        let names_the_key = ["code", "message"].iter().filter_map(|member| body["error"][member].as_str()).any(|text| {
            let text = text.to_ascii_lowercase();
            OF_THE_KEY.iter().any(|words| text.contains(words))
        });
        if names_the_key { GatewayError::NotReady { code: "api_key_not_permitted" } } else { GatewayError::Forbidden }
    }
}

const KEY_REFUSED: GatewayError = GatewayError::NotReady { code: "api_key_refused" };

impl ApiError {
    /// The bank wants to hear from the customer: <https://docs.stripe.com/error-codes#authentication-required>.
    pub(super) fn wants_authentication(&self) -> bool {
        [&self.code, &self.decline_code].into_iter().flatten().any(|code| code == "authentication_required")
    }

    /// The most telling name that the error has: <https://docs.stripe.com/declines/codes>.
    pub(super) fn reason(&self) -> String {
        let names = [self.decline_code.as_deref(), self.code.as_deref(), Some(self.kind.as_str())];
        names.into_iter().flatten().find_map(name).unwrap_or_else(|| "no_reason".to_owned())
    }
}

/// A code as codes look; anything else may be somebody's data.
fn name(text: &str) -> Option<String> {
    let is_name = (1..=64).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    is_name.then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, body: &str) -> Answer {
        Answer { status, is_repeated: false, retry_after: None, body: Bytes::copy_from_slice(body.as_bytes()) }
    }

    fn refusal(status: u16, body: &str) -> GatewayError {
        answer(status, body).refusal().unwrap_err()
    }

    #[test]
    fn every_status_has_a_meaning_for_a_charge() {
        use GatewayError as E;
        let body = r#"{"error":{"type":"invalid_request_error","code":"parameter_invalid","message":"cus_1 of Jane"}}"#;
        for (status, expected) in [
            (301, E::Unknown { code: "provider_answer_unreadable" }),
            (400, E::Refused { reason: "parameter_invalid".to_owned(), repeated: false }),
            (401, E::NotReady { code: "api_key_refused" }),
            (403, E::Forbidden),
            (404, E::Refused { reason: "parameter_invalid".to_owned(), repeated: false }),
            (408, E::Unknown { code: "provider_error" }),
            (409, E::Unknown { code: "charge_in_progress" }),
            (424, E::Unknown { code: "provider_error" }),
            (425, E::Unknown { code: "provider_error" }),
            (429, E::Busy { retry_after: None }),
            (500, E::Unknown { code: "provider_error" }),
            (502, E::Unknown { code: "provider_error" }),
            (503, E::Unknown { code: "provider_error" }),
        ] {
            assert_eq!(refusal(status, body), expected, "{status}");
        }
    }

    #[test]
    fn an_answer_of_something_in_between_is_no_refusal() {
        for status in [302, 400, 402, 403, 404, 413] {
            for body in ["", "<html>Bad Request</html>", "{}", r#"{"error":"bad"}"#, "\u{1}"] {
                assert_eq!(
                    refusal(status, body),
                    GatewayError::Unknown { code: "provider_answer_unreadable" },
                    "{status} {body}"
                );
            }
        }
    }

    #[test]
    fn a_403_is_the_keys_fault_where_it_says_so() {
        let of_the_key = GatewayError::NotReady { code: "api_key_not_permitted" };
        for (code, message, expected) in [
            ("", "The provided key 'rk_test_***' does not have the required permissions for this endpoint", &of_the_key),
            ("", "This is a restricted API key, but the required permissions are not available", &of_the_key),
            ("secret_api_key_required", "", &of_the_key),
            ("", "The customer cus_1 is not yours", &GatewayError::Forbidden),
            ("account_invalid", "", &GatewayError::Forbidden),
        ] {
            let body =
                serde_json::json!({"error": {"type": "invalid_request_error", "code": code, "message": message}}).to_string();
            assert_eq!(refusal(403, &body), *expected, "{code} {message}");
            assert_eq!(answer(403, &body).of_reading().unwrap_err(), *expected);
        }
        assert_eq!(answer(403, "<html>").of_reading().unwrap_err(), GatewayError::Forbidden);
    }

    #[test]
    fn a_key_that_tells_no_more_is_told_apart() {
        let reused = r#"{"error":{"type":"idempotency_error","message":"Keys for idempotent requests can only be used with the same parameters"}}"#;
        assert_eq!(refusal(400, reused), GatewayError::KeyUnusable { code: "idempotency_key_reused" });
        let repeated = Answer { is_repeated: true, ..answer(500, "") };
        assert_eq!(repeated.refusal().unwrap_err(), GatewayError::KeyUnusable { code: "provider_error_repeated" });
        let repeated = Answer {
            is_repeated: true,
            ..answer(404, r#"{"error":{"type":"invalid_request_error","code":"resource_missing"}}"#)
        };
        let message = repeated.refusal().unwrap_err().to_string();
        assert!(message.contains("resource_missing") && message.contains("24 h"), "{message}");
    }

    #[test]
    fn reasons_are_codes_and_nothing_else_of_what_the_provider_said() {
        let error = |body: &str| answer(402, body).refusal().unwrap();
        let declined =
            error(r#"{"error":{"type":"card_error","code":"card_declined","decline_code":"insufficient_funds","message":"m"}}"#);
        assert_eq!((declined.reason().as_str(), declined.wants_authentication()), ("insufficient_funds", false));
        let authentication =
            error(r#"{"error":{"type":"card_error","code":"authentication_required","decline_code":"authentication_required"}}"#);
        assert!(authentication.wants_authentication());
        for odd in [r#"{"error":{"type":"Jane Doe","code":"a@b"}}"#, r#"{"error":{}}"#] {
            assert_eq!(error(odd).reason(), "no_reason", "{odd}");
        }
        assert_eq!(error(r#"{"error":{"type":"card_error","code":"Your card ending in 4242"}}"#).reason(), "card_error");
    }
}
