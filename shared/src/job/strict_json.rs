//! A JSON parser that refuses what two readers could understand differently.

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::characters;
use super::field_error::FieldError;
use super::pointer;

/// Deepest nesting of arrays and objects.
pub const MAX_DEPTH: usize = 32;

const BYTE_ORDER_MARK: char = '\u{feff}';

/// Why a text was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", if pointer.is_empty() { String::new() } else { format!("{pointer}: ") })]
pub struct StrictJsonError {
    /// JSON pointer to the place, as far as it was understood; empty for the whole document.
    pub pointer: String,
    /// The broken rule.
    pub rule: StrictJsonRule,
    /// The rule and the mend in words. Never contains a value.
    pub message: String,
}

/// The rules of [`parse`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StrictJsonRule {
    /// Nothing there.
    Empty,
    /// The bytes are not UTF-8.
    Encoding,
    /// Not JSON.
    Syntax,
    /// The text ends in the middle.
    Incomplete,
    /// A member stands twice in one object.
    DuplicateMember,
    /// More than [`MAX_DEPTH`] arrays and objects in each other.
    TooDeep,
    /// A number with a fraction or an exponent, minus zero, or beyond 64 bits.
    Number,
    /// A string or a member name has a character that SQS does not carry.
    Character,
}

impl StrictJsonRule {
    /// Stable name of the rule, in snake case.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Empty => "json_empty",
            Self::Encoding => "json_not_utf8",
            Self::Syntax => "json_syntax",
            Self::Incomplete => "json_incomplete",
            Self::DuplicateMember => "duplicate_member",
            Self::TooDeep => "nested_too_deep",
            Self::Number => "number_not_integer",
            Self::Character => "character_not_allowed",
        }
    }

    /// Whether the text is JSON by the standard and breaks one of our own rules only.
    #[must_use]
    pub fn is_json(self) -> bool {
        matches!(self, Self::DuplicateMember | Self::TooDeep | Self::Number | Self::Character)
    }
}

impl StrictJsonError {
    /// Stable name of the broken rule.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.rule.code()
    }

    fn new(rule: StrictJsonRule, message: impl Into<String>) -> Self {
        Self { pointer: String::new(), rule, message: message.into() }
    }
}

impl From<StrictJsonError> for FieldError {
    fn from(error: StrictJsonError) -> Self {
        Self { code: error.code(), pointer: error.pointer, message: error.message }
    }
}

/// Reads a JSON text strictly.
///
/// - One byte order mark in front is accepted.
/// - A member that stands twice in an object is refused at any depth: one reader would take the first, the next one the last.
/// - Numbers are integers that fit `i64` or `u64`; `100.0`, `1e3`, `-0` and 2^64 are refused. Every number that passes arrives digit for digit.
/// - Nesting deeper than [`MAX_DEPTH`] is refused before it uses any stack.
/// - Strings and member names have only characters that SQS carries.
///
/// # Errors
/// The first rule that is broken, with the JSON pointer of the place.
pub fn parse(text: &str) -> Result<Value, StrictJsonError> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    if text.trim_ascii().is_empty() {
        return Err(StrictJsonError::new(StrictJsonRule::Empty, "there is no JSON: the text is empty"));
    }
    let trace = Trace::default();
    let mut deserializer = serde_json::Deserializer::from_str(text);
    Node { trace: &trace, depth: 0 }
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value))
        .map_err(|error| trace.explain(&error))
}

/// Reads JSON out of bytes, as [`parse`] does out of a text.
///
/// # Errors
/// As [`parse`], and when the bytes are not UTF-8.
pub fn parse_bytes(bytes: &[u8]) -> Result<Value, StrictJsonError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let message = format!("not UTF-8: byte {} cannot stand there", error.valid_up_to() + 1);
        StrictJsonError::new(StrictJsonRule::Encoding, message)
    })?;
    parse(text)
}

/// Where an error happened. It fills while the error travels outwards, so a text that is accepted pays nothing for it.
#[derive(Default)]
struct Trace {
    broken: RefCell<Option<(StrictJsonRule, String)>>,
    /// Innermost first.
    steps: RefCell<Vec<Step>>,
}

enum Step {
    Member(String),
    Element(usize),
}

impl Trace {
    fn refuse<E: serde::de::Error>(&self, rule: StrictJsonRule, message: impl Into<String>) -> E {
        *self.broken.borrow_mut() = Some((rule, message.into()));
        E::custom("refused")
    }

    fn came_from<E>(&self, step: Step, error: E) -> E {
        self.steps.borrow_mut().push(step);
        error
    }

    fn explain(&self, error: &serde_json::Error) -> StrictJsonError {
        let pointer = self.steps.borrow().iter().rev().fold(String::new(), |parent, step| match step {
            Step::Member(name) => pointer::member(&parent, name),
            Step::Element(index) => pointer::element(&parent, *index),
        });
        let (rule, message) = self.broken.take().unwrap_or_else(|| syntax(error));
        StrictJsonError { pointer, rule, message }
    }
}

/// serde_json's own syntax errors are fixed texts with line and column: they never repeat the input.
fn syntax(error: &serde_json::Error) -> (StrictJsonRule, String) {
    if error.is_eof() {
        let message = format!("the JSON ends in the middle, at line {} column {}", error.line(), error.column());
        return (StrictJsonRule::Incomplete, message);
    }
    let text = error.to_string();
    if text.starts_with("number out of range") {
        return (StrictJsonRule::Number, NUMBER_MESSAGE.to_owned());
    }
    (StrictJsonRule::Syntax, format!("not valid JSON: {text}"))
}

const NUMBER_MESSAGE: &str =
    "numbers must be integers of at most 64 bits, without fraction, exponent or minus zero: write decimals as strings";

struct Node<'t> {
    trace: &'t Trace,
    /// Arrays and objects around this value.
    depth: usize,
}

impl Node<'_> {
    fn inside<E: serde::de::Error>(&self) -> Result<Node<'_>, E> {
        if self.depth == MAX_DEPTH {
            let message = format!("arrays and objects must not be nested deeper than {MAX_DEPTH}");
            return Err(self.trace.refuse(StrictJsonRule::TooDeep, message));
        }
        Ok(Node { trace: self.trace, depth: self.depth + 1 })
    }

    fn check_characters<E: serde::de::Error>(&self, text: &str, what: &str) -> Result<(), E> {
        let Some(character) = characters::first_not_carried(text) else { return Ok(()) };
        let message = format!("{what} has the character U+{:04X}, which SQS does not carry: remove it", u32::from(character));
        Err(self.trace.refuse(StrictJsonRule::Character, message))
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    /// Where serde_json ends up with everything that is not an integer of 64 bits.
    fn visit_f64<E: serde::de::Error>(self, _: f64) -> Result<Value, E> {
        Err(self.trace.refuse(StrictJsonRule::Number, NUMBER_MESSAGE))
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Value, E> {
        self.check_characters(value, "the string")?;
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E: serde::de::Error>(self, value: String) -> Result<Value, E> {
        self.check_characters(&value, "the string")?;
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        loop {
            let element = elements.next_element_seed(self.inside()?);
            match element.map_err(|error| self.trace.came_from(Step::Element(list.len()), error))? {
                Some(value) => list.push(value),
                None => return Ok(Value::Array(list)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        self.inside::<A::Error>()?;
        while let Some(name) = members.next_key::<String>()? {
            self.check_characters(&name, "a member name")?;
            if object.contains_key(&name) {
                let error = self.trace.refuse(StrictJsonRule::DuplicateMember, "the member stands there twice: remove one");
                return Err(self.trace.came_from(Step::Member(name), error));
            }
            match members.next_value_seed(self.inside()?) {
                Ok(value) => _ = object.insert(name, value),
                Err(error) => return Err(self.trace.came_from(Step::Member(name), error)),
            }
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests;
