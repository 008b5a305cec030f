//! What must not enter a queue: secrets, card data, addresses, long text.
//!
//! Whatever is in a message is shown to operators, copied by redrives and kept in the dead-letter queue for 14 days. These rules find the usual
//! accidents (a token pasted into a parameter, a mail body passed along), by names and by shapes. They are a net, not a proof.

mod card_numbers;
mod mail_addresses;
mod secret_names;
mod secret_values;

use serde_json::{Map, Value};

use super::canonical::canonical;
use super::field_error::FieldError;
use super::pointer;
use super::strict_json;
use secret_names::NameRule;

/// Longest string in a payload, in bytes of UTF-8. An S3 key has at most 1,024 bytes; what is longer is text that belongs somewhere else.
pub const MAX_STRING_BYTES: usize = 1024;

/// Largest payload, in bytes of canonical JSON. A payload is a handful of ids; SQS bills every 64 KiB of a message.
pub const MAX_PAYLOAD_BYTES: usize = 16 * 1024;

/// Errors that are listed at most.
const MAX_ERRORS: usize = 20;

/// JSON that is wrapped in a string is looked into this many times over.
const MAX_WRAPPINGS: usize = 2;

/// Checks a payload against the privacy rules. `pointer` is where the value stands in its document.
///
/// The codes are `secret_name`, `secret_value`, `card_number`, `mail_address`, `mail_body`, `long_text` and `payload_too_large`. At most 20 errors
/// are listed. Messages name the rule, never the value; a member name that is itself a secret is not repeated in the pointer.
#[must_use]
pub fn check(value: &Value, pointer: &str) -> Vec<FieldError> {
    if canonical(value).len() > MAX_PAYLOAD_BYTES {
        let message = format!("the payload must not be larger than {MAX_PAYLOAD_BYTES} bytes: store the data and pass its id");
        return vec![FieldError::new(pointer, "payload_too_large", message)];
    }
    let mut check = Check { errors: Vec::new(), wrappings: 0 };
    check.value(value, pointer);
    check.errors
}

/// Checks an idempotency key. Long numbers are common keys, and one in fifty looks like a card number: that rule is left out.
pub(crate) fn check_key(key: &str, pointer: &str) -> Option<FieldError> {
    secret(key).or_else(|| mail_address(key)).map(|finding| finding.at(pointer))
}

/// Checks a text beside the payload (a business id) against the rules on values.
pub(crate) fn check_text(text: &str, pointer: &str) -> Option<FieldError> {
    finding(text).map(|finding| finding.at(pointer))
}

/// Whether a text is or contains what must not be shown.
pub(crate) fn reveals_secret(text: &str) -> bool {
    finding(text).is_some()
}

struct Finding {
    code: &'static str,
    message: String,
}

impl Finding {
    fn at(self, pointer: &str) -> FieldError {
        FieldError::new(pointer, self.code, self.message)
    }
}

fn finding(text: &str) -> Option<Finding> {
    secret(text).or_else(|| card_number(text)).or_else(|| mail_address(text))
}

fn secret(text: &str) -> Option<Finding> {
    let what = secret_values::find(text)?;
    let message = format!("looks like {what}: secrets never enter a queue, let the worker read it from where it is kept");
    Some(Finding { code: "secret_value", message })
}

fn card_number(text: &str) -> Option<Finding> {
    let message = "looks like a card number: card data never enters a queue, pass the payment provider's id";
    card_numbers::contains_card_number(text).then(|| Finding { code: "card_number", message: message.to_owned() })
}

fn mail_address(text: &str) -> Option<Finding> {
    let message = "looks like a mail address: pass the user's id, the worker looks the address up";
    mail_addresses::contains_mail_address(text).then(|| Finding { code: "mail_address", message: message.to_owned() })
}

struct Check {
    errors: Vec<FieldError>,
    wrappings: usize,
}

impl Check {
    fn value(&mut self, value: &Value, at: &str) {
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Number(number) => self.report(finding(&number.to_string()), at),
            Value::String(text) => self.text(text, at),
            Value::Array(elements) => {
                for (index, element) in elements.iter().enumerate() {
                    self.value(element, &pointer::element(at, index));
                }
            }
            Value::Object(members) => self.members(members, at),
        }
    }

    fn members(&mut self, members: &Map<String, Value>, at: &str) {
        for (name, value) in members {
            let here = pointer::member(at, name);
            if let Some(found) = finding(name) {
                self.report(Some(Finding { message: format!("the member name {}", found.message), ..found }), &here);
                continue;
            }
            match secret_names::rule(name) {
                Some(rule) if applies(rule, value) => self.report(Some(name_finding(rule)), &here),
                _ => self.value(value, &here),
            }
        }
    }

    fn text(&mut self, text: &str, at: &str) {
        if text.len() > MAX_STRING_BYTES {
            let message = format!("the string must not be longer than {MAX_STRING_BYTES} bytes: store the text and pass its id");
            return self.report(Some(Finding { code: "long_text", message }), at);
        }
        if let Some(found) = finding(text) {
            return self.report(Some(found), at);
        }
        self.wrapped_json(text, at);
    }

    /// `"{\"password\":\"…\"}"` is the same accident in another wrapping. The errors point to the string.
    fn wrapped_json(&mut self, text: &str, at: &str) {
        if self.wrappings == MAX_WRAPPINGS || !text.trim_start().starts_with(['{', '[']) {
            return;
        }
        let Ok(inner) = strict_json::parse(text) else { return };
        let mut check = Self { errors: Vec::new(), wrappings: self.wrappings + 1 };
        check.value(&inner, "");
        for error in check.errors {
            // Without the place inside: messages are logged, and these names are all the sender's.
            let message = format!("the JSON in this string: {}", error.message);
            self.report(Some(Finding { code: error.code, message }), at);
        }
    }

    fn report(&mut self, finding: Option<Finding>, at: &str) {
        if let Some(finding) = finding.filter(|_| self.errors.len() < MAX_ERRORS) {
            self.errors.push(finding.at(at));
        }
    }
}

/// A flag (`hasPassword`) or nothing at all is no secret; a number is one only where secrets are numbers (`pin`, but not `maxTokens`).
fn applies(rule: NameRule, value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) => false,
        Value::Number(_) => rule == NameRule::SecretNumber,
        Value::String(_) | Value::Array(_) | Value::Object(_) => true,
    }
}

fn name_finding(rule: NameRule) -> Finding {
    match rule {
        NameRule::Secret | NameRule::SecretNumber => Finding {
            code: "secret_name",
            message: "by its name the member holds a secret or card data, which never enters a queue: remove it and pass an id"
                .to_owned(),
        },
        NameRule::MailBody => Finding {
            code: "mail_body",
            message:
                "by its name the member holds the text of a mail, which never enters a queue: pass a template id and parameters"
                    .to_owned(),
        },
    }
}

#[cfg(test)]
mod tests;
