//! The `Idempotency-Key` header.
//!
//! The draft standard makes it a quoted structured-field string (<https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/>);
//! most clients send the bare value. Both name the same key. A comma in a bare value may be two headers that a door has joined, so such
//! keys must be quoted.

use ikkai::job::IdempotencyKey;

use crate::event::Headers;
use crate::problem::{Code, Problem};

/// Lower-case name of the header.
const NAME: &str = "idempotency-key";

/// The key in the header; `None` without one.
pub(crate) fn read(headers: &Headers) -> Result<Option<IdempotencyKey>, Problem> {
    let text = match headers.all(NAME) {
        [] => return Ok(None),
        [only] => only.trim_matches([' ', '\t']),
        _ => return Err(invalid("send the header idempotency-key once")),
    };
    let key = if text.starts_with('"') {
        unquoted(text)
            .ok_or_else(|| invalid("the header idempotency-key is not one quoted string; escape quotes and backslashes in it"))?
    } else if text.contains(',') {
        return Err(invalid("the header idempotency-key has a comma: send one value, and in quotes if the comma is part of it"));
    } else {
        text.to_owned()
    };
    IdempotencyKey::parse(&key).map(Some).map_err(|error| invalid(error.to_string()))
}

/// A structured-field string (RFC 9651, 3.3.3) and nothing behind it.
fn unquoted(text: &str) -> Option<String> {
    let mut key = String::new();
    let mut characters = text.strip_prefix('"')?.chars();
    loop {
        match characters.next()? {
            '"' => return characters.as_str().is_empty().then_some(key),
            '\\' => key.push(characters.next().filter(|escaped| matches!(escaped, '"' | '\\'))?),
            character => key.push(character),
        }
    }
}

pub(crate) fn invalid(detail: impl Into<String>) -> Problem {
    Problem::new(Code::IdempotencyKeyInvalid, detail)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::event::Request;

    fn key(values: &[&str]) -> Result<Option<String>, Code> {
        let event = json!({"httpMethod": "POST", "multiValueHeaders": {"Idempotency-KEY": values}});
        let headers = Request::from_event(&event).unwrap().headers;
        read(&headers).map(|key| key.map(|key| key.as_str().to_owned())).map_err(|problem| problem.code)
    }

    #[test]
    fn quoted_and_bare_values_name_the_same_key() {
        for value in ["k-1", "\"k-1\"", " k-1 ", "\t\"k-1\" "] {
            assert_eq!(key(&[value]), Ok(Some("k-1".to_owned())), "{value}");
        }
        assert_eq!(key(&[r#""a\"b\\c, d""#]), Ok(Some(r#"a"b\c, d"#.to_owned())));
        assert_eq!(key(&[]), Ok(None));
    }

    #[test]
    fn everything_else_is_refused() {
        let long = "k".repeat(256);
        for values in [
            &["a", "b"][..],
            &["a", "a"],
            &["a, b"],
            &["\"a\", \"b\""],
            &["\"a\";p=1"],
            &["\"a"],
            &["\"a\\"],
            &["\"a\\n\""],
            &[""],
            &["  "],
            &["\"\""],
            &["\"  \""],
            &["\" a\""],
            &["clé"],
            &[long.as_str()],
        ] {
            assert_eq!(key(values), Err(Code::IdempotencyKeyInvalid), "{values:?}");
        }
        assert_eq!(key(&["k".repeat(255).as_str()]), Ok(Some("k".repeat(255))));
    }
}
