//! Reads settings and collects what is wrong with them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::time::Duration;

use serde::de::DeserializeOwned;

use super::{ConfigError, Problem};

/// A setting's text, or the fact that its bytes are not Unicode.
enum Raw {
    Text(String),
    NotUnicode,
}

/// Reads settings one by one; a method that finds a problem notes it and returns a placeholder, which nobody gets to see because
/// [`Reader::finish`] then fails.
///
/// White space around a value is dropped, and a variable that is empty counts as unset: templates often cannot leave a variable out, and
/// a trailing line break is the most common way to get a value wrong. Values never appear in problems, except numbers outside their range.
pub struct Reader {
    variables: BTreeMap<String, Raw>,
    asked: BTreeSet<&'static str>,
    problems: Vec<Problem>,
}

impl Reader {
    /// Reads the process's environment variables.
    #[must_use]
    pub fn from_env() -> Self {
        let variables = std::env::vars_os().filter_map(|(name, value)| {
            let raw = value.into_string().map_or(Raw::NotUnicode, Raw::Text);
            Some((name.into_string().ok()?, raw))
        });
        Self::new(variables.collect())
    }

    /// Reads the given variables, for tests and for callers that have their settings elsewhere.
    pub fn from_pairs<I, K, V>(pairs: I) -> Self
    where
        I: IntoIterator<Item = (K, V)>,
        K: Into<String>,
        V: Into<String>,
    {
        Self::new(pairs.into_iter().map(|(name, value)| (name.into(), Raw::Text(value.into()))).collect())
    }

    fn new(variables: BTreeMap<String, Raw>) -> Self {
        Self { variables, asked: BTreeSet::new(), problems: Vec::new() }
    }

    /// A text that must be there.
    pub fn required_text(&mut self, name: &'static str) -> String {
        self.required(name, "a text").unwrap_or_default()
    }

    /// A text that may be left out.
    pub fn optional_text(&mut self, name: &'static str) -> Option<String> {
        self.asked.insert(name);
        match self.variables.get(name)? {
            Raw::NotUnicode => {
                self.problem(name, "is not valid UTF-8; set it to plain text");
                None
            }
            Raw::Text(text) => {
                let text = text.trim();
                (!text.is_empty()).then(|| text.to_owned())
            }
        }
    }

    /// A text, or `default` when it is left out.
    pub fn text(&mut self, name: &'static str, default: &str) -> String {
        self.optional_text(name).unwrap_or_else(|| default.to_owned())
    }

    /// `IKKAI_SERVICE`, the function's name in metrics: the name that Lambda gives it unless it is set, and `default` outside of Lambda.
    pub fn service(&mut self, default: &str) -> String {
        let named = self.optional_text("IKKAI_SERVICE").or_else(|| self.optional_text("AWS_LAMBDA_FUNCTION_NAME"));
        named.unwrap_or_else(|| default.to_owned())
    }

    /// A whole number inside `range`, or `default` when it is left out.
    pub fn number(&mut self, name: &'static str, default: u64, range: RangeInclusive<u64>) -> u64 {
        self.optional_number(name, range).unwrap_or(default)
    }

    /// A whole number inside `range` that must be there.
    pub fn required_number(&mut self, name: &'static str, range: RangeInclusive<u64>) -> u64 {
        let expected = format!("a whole number from {} to {}", range.start(), range.end());
        let placeholder = *range.start();
        self.required(name, &expected).and_then(|text| self.parse_number(name, &text, range)).unwrap_or(placeholder)
    }

    /// A whole number inside `range` that may be left out.
    pub fn optional_number(&mut self, name: &'static str, range: RangeInclusive<u64>) -> Option<u64> {
        let text = self.optional_text(name)?;
        self.parse_number(name, &text, range)
    }

    /// A duration in whole seconds inside `range`, or `default` seconds when it is left out.
    pub fn seconds(&mut self, name: &'static str, default: u64, range: RangeInclusive<u64>) -> Duration {
        Duration::from_secs(self.number(name, default, range))
    }

    /// A duration in whole milliseconds inside `range`, or `default` milliseconds when it is left out.
    pub fn millis(&mut self, name: &'static str, default: u64, range: RangeInclusive<u64>) -> Duration {
        Duration::from_millis(self.number(name, default, range))
    }

    /// A switch: `on` or `true`, `off` or `false`, or `default` when it is left out.
    pub fn switch(&mut self, name: &'static str, default: bool) -> bool {
        let Some(text) = self.optional_text(name) else { return default };
        match text.to_ascii_lowercase().as_str() {
            "on" | "true" => true,
            "off" | "false" => false,
            _ => {
                self.problem(name, "is not a switch; set it to on or off");
                default
            }
        }
    }

    /// One of `choices` by its name, whatever the case, or `default` when it is left out.
    pub fn choice<T: Clone>(&mut self, name: &'static str, choices: &[(&str, T)], default: T) -> T {
        let Some(text) = self.optional_text(name) else { return default };
        if let Some((_, value)) = choices.iter().find(|(choice, _)| choice.eq_ignore_ascii_case(&text)) {
            return value.clone();
        }
        let known: Vec<&str> = choices.iter().map(|(choice, _)| *choice).collect();
        self.problem(name, format!("is none of the known values; set it to one of: {}", known.join(", ")));
        default
    }

    /// A JSON document that may be left out. `None` also after a problem, which is noted.
    pub fn json<T: DeserializeOwned>(&mut self, name: &'static str) -> Option<T> {
        let text = self.optional_text(name)?;
        self.parse_json(name, &text)
    }

    /// A JSON document that must be there. `None` only after a problem, which is noted.
    pub fn required_json<T: DeserializeOwned>(&mut self, name: &'static str) -> Option<T> {
        let text = self.required(name, "a JSON document")?;
        self.parse_json(name, &text)
    }

    /// Notes a problem that the caller found, such as two settings that contradict each other. The message must not hold a secret.
    pub fn problem(&mut self, name: &'static str, message: impl Into<String>) {
        self.problems.push(Problem { name, message: message.into() });
    }

    /// Variables that begin with `prefix` and hold a value, but were never asked for: misspelled names, mostly. To be called after the last
    /// setting was read.
    #[must_use]
    pub fn unread(&self, prefix: &str) -> Vec<&str> {
        let with_prefix = self.variables.range(prefix.to_owned()..).take_while(|(name, _)| name.starts_with(prefix));
        with_prefix.map(|(name, _)| name.as_str()).filter(|name| !self.asked.contains(name)).collect()
    }

    /// Writes one warning that names the [unread](Self::unread) variables, if there are any: a setting whose name is misspelled has its default,
    /// which nobody notices otherwise. Values are not written.
    pub fn warn_of_unread(&self, prefix: &str) {
        let unread = self.unread(prefix);
        if !unread.is_empty() {
            tracing::warn!(error = %format_args!("nothing reads {}; check the spelling", unread.join(", ")), "unknown settings");
        }
    }

    /// Hands out `value` if everything was in order.
    ///
    /// # Errors
    ///
    /// All the problems that were noted, if there are any.
    pub fn finish<T>(self, value: T) -> Result<T, ConfigError> {
        if self.problems.is_empty() { Ok(value) } else { Err(ConfigError { problems: self.problems }) }
    }

    fn required(&mut self, name: &'static str, expected: &str) -> Option<String> {
        let problems_before = self.problems.len();
        let text = self.optional_text(name);
        if text.is_none() && self.problems.len() == problems_before {
            self.problem(name, format!("is not set; set it to {expected}"));
        }
        text
    }

    fn parse_number(&mut self, name: &'static str, text: &str, range: RangeInclusive<u64>) -> Option<u64> {
        let bounds = format!("from {} to {}", range.start(), range.end());
        // `u64::from_str` takes a leading plus sign, which no other reader of such a variable is sure to take.
        let digits_only = text.bytes().all(|byte| byte.is_ascii_digit());
        match text.parse::<u64>() {
            Ok(number) if digits_only && range.contains(&number) => return Some(number),
            Ok(number) if digits_only => {
                self.problem(name, format!("is {number}, which is out of range; set it to a whole number {bounds}"));
            }
            _ => self.problem(name, format!("is not a whole number; set it to a whole number {bounds}")),
        }
        None
    }

    fn parse_json<T: DeserializeOwned>(&mut self, name: &'static str, text: &str) -> Option<T> {
        match serde_json::from_str(text) {
            Ok(value) => Some(value),
            Err(error) => {
                self.problem(name, json_problem(&error));
                None
            }
        }
    }
}

/// Describes a JSON error without the document's values, which serde's messages quote. Member names are kept: they are the mend.
fn json_problem(error: &serde_json::Error) -> String {
    let place = format!("line {} column {}", error.line(), error.column());
    if !error.is_data() {
        return format!("is not valid JSON ({place}); check quotes, commas and brackets");
    }
    let message = error.to_string();
    let names_members_only = ["missing field", "unknown field", "duplicate field"].iter().any(|kind| message.starts_with(kind));
    if names_members_only {
        return format!("is JSON with a {message}; correct the document");
    }
    format!("is JSON, but the value at {place} has the wrong type or is not allowed; correct the document")
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::observability::logs::LevelSetting;
    use crate::observability::logs::capture::Captured;

    const UNSET: [(&str, &str); 0] = [];

    #[test]
    fn misspelled_names_are_logged_in_one_line_and_their_values_are_not() {
        let captured = Captured::start(LevelSetting::Info);
        let mut reader =
            Reader::from_pairs([("IKKAI_QUEUE", "a"), ("IKKAI_QUEUE_NAM", "secret"), ("IKKAI_TIMEOUT", "7"), ("PATH", "/bin")]);
        reader.warn_of_unread("IKKAI_QUEUE_NAME");
        assert_eq!(captured.lines(), Vec::<String>::new(), "nothing to warn of");
        reader.optional_text("IKKAI_QUEUE");
        reader.warn_of_unread("IKKAI_");
        let line = captured.only_line();
        assert_eq!((&line["level"], &line["message"]), (&"WARN".into(), &"unknown settings".into()));
        assert_eq!(line["error"], "nothing reads IKKAI_QUEUE_NAM, IKKAI_TIMEOUT; check the spelling");
    }

    fn problems_of(reader: Reader) -> Vec<String> {
        reader.finish(()).expect_err("there is a problem").problems().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_problem_is_reported_at_once_on_its_own_line() {
        let mut reader =
            Reader::from_pairs([("A_NUMBER", "many"), ("A_SWITCH", "maybe"), ("A_CHOICE", "purple"), ("A_RANGE", "11")]);
        reader.required_text("A_TEXT");
        reader.number("A_NUMBER", 1, 0..=9);
        reader.switch("A_SWITCH", true);
        reader.choice("A_CHOICE", &[("hold", 1), ("rerun", 2)], 1);
        reader.required_number("A_RANGE", 1..=10);
        reader.problem("A_PAIR", "contradicts A_RANGE; unset one of them");
        let error = reader.finish(()).expect_err("six problems");
        assert_eq!(
            error.to_string(),
            "configuration has 6 problems:
  A_TEXT: is not set; set it to a text
  A_NUMBER: is not a whole number; set it to a whole number from 0 to 9
  A_SWITCH: is not a switch; set it to on or off
  A_CHOICE: is none of the known values; set it to one of: hold, rerun
  A_RANGE: is 11, which is out of range; set it to a whole number from 1 to 10
  A_PAIR: contradicts A_RANGE; unset one of them"
        );
    }

    #[test]
    fn defaults_apply_to_what_is_left_out_or_empty() {
        let mut reader = Reader::from_pairs([("EMPTY", ""), ("BLANK", " \n")]);
        assert_eq!(reader.text("EMPTY", "x"), "x");
        assert_eq!(reader.optional_text("BLANK"), None);
        assert_eq!(reader.number("BLANK", 7, 0..=9), 7);
        assert_eq!(reader.optional_number("MISSING", 0..=9), None);
        assert_eq!(reader.seconds("MISSING", 2, 0..=9), Duration::from_secs(2));
        assert_eq!(reader.millis("MISSING", 2, 0..=9), Duration::from_millis(2));
        assert!(reader.switch("EMPTY", true));
        assert_eq!(reader.choice("EMPTY", &[("a", 'a')], 'z'), 'z');
        assert_eq!(reader.json::<u8>("EMPTY"), None);
        reader.finish(()).expect("nothing is wrong");
    }

    #[test]
    fn values_are_read_without_the_white_space_around_them() {
        let mut reader = Reader::from_pairs([("TEXT", " a b \n"), ("NUMBER", "42\n"), ("SWITCH", "OFF "), ("CHOICE", "Rerun")]);
        assert_eq!(reader.required_text("TEXT"), "a b");
        assert_eq!(reader.required_number("NUMBER", 0..=100), 42);
        assert!(!reader.switch("SWITCH", true));
        assert_eq!(reader.choice("CHOICE", &[("hold", 1), ("rerun", 2)], 1), 2);
        reader.finish(()).expect("nothing is wrong");
    }

    #[test]
    fn numbers_are_plain_digits() {
        for text in ["+1", "-1", "1.0", "1e3", "1_000", "0x10", "99999999999999999999"] {
            let mut reader = Reader::from_pairs([("N", text)]);
            reader.optional_number("N", 0..=u64::MAX);
            assert_eq!(problems_of(reader).len(), 1, "{text}");
        }
    }

    #[test]
    fn a_required_empty_value_is_one_problem() {
        let mut reader = Reader::from_pairs([("T", " ")]);
        reader.required_text("T");
        assert_eq!(problems_of(reader), ["T: is not set; set it to a text"]);
        let mut reader = Reader::from_pairs(UNSET);
        reader.required_json::<u8>("J");
        reader.required_number("N", 1..=3);
        assert_eq!(
            problems_of(reader),
            ["J: is not set; set it to a JSON document", "N: is not set; set it to a whole number from 1 to 3"]
        );
    }

    #[test]
    fn problems_with_json_name_members_and_places_but_no_values() {
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Policy {
            caller: u8,
        }
        for (document, expected) in [
            ("{", "J: is not valid JSON (line 1 column 1); check quotes, commas and brackets"),
            ("{}", "J: is JSON with a missing field `caller` at line 1 column 2; correct the document"),
            (
                r#"{"caller":"hunter2"}"#,
                "J: is JSON, but the value at line 1 column 19 has the wrong type or is not allowed; correct the document",
            ),
        ] {
            let mut reader = Reader::from_pairs([("J", document)]);
            assert!(reader.required_json::<Policy>("J").is_none());
            assert_eq!(problems_of(reader), [expected]);
        }
        let mut reader = Reader::from_pairs([("J", r#"{"caller":1}"#)]);
        assert_eq!(reader.json::<Policy>("J").expect("it parses").caller, 1);
        reader.finish(()).expect("nothing is wrong");
    }

    #[test]
    fn no_problem_quotes_a_text_value() {
        let secret = "sk_live_4242";
        let mut reader = Reader::from_pairs(["N", "S", "C", "J"].map(|name| (name, secret)));
        reader.number("N", 0, 0..=1);
        reader.switch("S", false);
        reader.choice("C", &[("a", 1)], 1);
        reader.json::<u8>("J");
        let error = reader.finish(()).expect_err("four problems");
        assert_eq!(error.problems().len(), 4);
        assert!(!error.to_string().contains(secret), "{error}");
    }

    #[test]
    fn bytes_that_are_not_unicode_are_a_problem() {
        let mut reader = Reader::new(BTreeMap::from([("T".to_owned(), Raw::NotUnicode)]));
        reader.required_text("T");
        assert_eq!(problems_of(reader), ["T: is not valid UTF-8; set it to plain text"]);
    }

    #[test]
    fn a_misspelled_variable_is_found_once_everything_was_read() {
        let mut reader =
            Reader::from_pairs([("IKKAI_MAX_ATEMPTS", "5"), ("IKKAI_LOG_LEVEL", "info"), ("PATH", "/bin"), ("IKKAJ", "1")]);
        reader.text("IKKAI_LOG_LEVEL", "info");
        assert_eq!(reader.unread("IKKAI_"), ["IKKAI_MAX_ATEMPTS"]);
    }

    #[test]
    fn the_environment_is_read() {
        let mut reader = Reader::from_env();
        assert!(reader.optional_text("CARGO_PKG_NAME").is_some_and(|name| name == "ikkai"));
    }
}
