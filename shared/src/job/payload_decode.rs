//! JSON to payload type, with errors that name the field and never its value.

use std::fmt;

use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, Expected, MapAccess, SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::Value;

use super::field_error::FieldError;
use super::nearest_name;
use super::pointer;
use super::privacy;

/// Reads a payload type out of a JSON value. The error is the first one that serde comes across.
///
/// serde_json's own deserializer puts the offending value into its messages (`invalid type: string "…"`), has no pointer, and takes an array for a
/// struct. This one does neither.
pub(crate) fn from_value<T: de::DeserializeOwned>(value: &Value) -> Result<T, FieldError> {
    T::deserialize(Node { input: Input::Value(value) }).map_err(|refusal| refusal.into_field_error(value))
}

/// An error on its way from the field where it happened to the root; its pointer grows at the front.
#[derive(Debug)]
struct Refusal {
    error: Box<FieldError>,
    /// The message was written by a type's own `Deserialize`: it may repeat the value.
    foreign: bool,
}

impl Refusal {
    fn new(pointer: String, code: &'static str, message: String) -> Self {
        Self { error: Box::new(FieldError { pointer, code, message }), foreign: false }
    }

    fn inside(mut self, step: String) -> Self {
        self.error.pointer.insert_str(0, &step);
        self
    }

    fn into_field_error(mut self, root: &Value) -> FieldError {
        if self.foreign && repeats_a_value(&self.error.message, root) {
            "the value is not one that this member accepts".clone_into(&mut self.error.message);
        }
        *self.error
    }
}

fn repeats_a_value(message: &str, value: &Value) -> bool {
    match value {
        Value::Array(elements) => elements.iter().any(|element| repeats_a_value(message, element)),
        Value::Object(members) => members.iter().any(|(name, member)| {
            repeats_a_value(message, member) || (message.contains(name.as_str()) && privacy::reveals_secret(name))
        }),
        Value::String(text) => text.chars().count() > 2 && message.contains(text.as_str()),
        Value::Number(number) => message.contains(&number.to_string()),
        Value::Null | Value::Bool(_) => false,
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for Refusal {}

impl de::Error for Refusal {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { error: Box::new(FieldError::new("", "invalid_value", message.to_string())), foreign: true }
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(String::new(), "wrong_type", format!("must be {}, not {}", wanted(expected), kind(found)))
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(String::new(), "invalid_value", format!("must be {}", wanted(expected)))
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        Self::new(String::new(), "invalid_length", format!("has {length} elements, must be {}", wanted(expected)))
    }

    fn unknown_variant(_: &str, known: &'static [&'static str]) -> Self {
        Self::new(String::new(), "invalid_value", one_of(known))
    }

    fn unknown_field(name: &str, known: &'static [&'static str]) -> Self {
        Self::new(pointer::member("", name), "unknown_member", unknown_member(name, known.iter().copied()))
    }

    fn missing_field(name: &'static str) -> Self {
        Self::new(pointer::member("", name), "missing_member", MISSING.to_owned())
    }

    fn duplicate_field(name: &'static str) -> Self {
        Self::new(pointer::member("", name), "duplicate_member", "the member stands there twice: remove one".to_owned())
    }
}

/// What is said about a member that must be there and is not.
pub(crate) const MISSING: &str = "the member is missing";

/// What is said about a member that nobody knows.
pub(crate) fn unknown_member<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    if let Some(near) = nearest_name::nearest(name, known.clone()) {
        return format!("unknown member: did you mean `{near}`?");
    }
    match known.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ") {
        known if known.is_empty() => "unknown member: this object has none".to_owned(),
        known => format!("unknown member: known are {known}"),
    }
}

/// What is said about a value that is none of a closed list.
pub(crate) fn one_of(known: &[&str]) -> String {
    format!("must be one of {}", known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "))
}

/// serde's names of what a type expects, in the words of JSON.
fn wanted(expected: &dyn Expected) -> String {
    let text = expected.to_string();
    match text.as_str() {
        "u8" => format!("an integer from 0 to {}", u8::MAX),
        "u16" => format!("an integer from 0 to {}", u16::MAX),
        "u32" => format!("an integer from 0 to {}", u32::MAX),
        "u64" | "usize" => format!("an integer from 0 to {}", u64::MAX),
        "i8" => format!("an integer from {} to {}", i8::MIN, i8::MAX),
        "i16" => format!("an integer from {} to {}", i16::MIN, i16::MAX),
        "i32" => format!("an integer from {} to {}", i32::MIN, i32::MAX),
        "i64" | "isize" => format!("an integer from {} to {}", i64::MIN, i64::MAX),
        "f32" | "f64" => "a number".to_owned(),
        "a sequence" => "an array".to_owned(),
        "a map" => "an object".to_owned(),
        "unit" => "null".to_owned(),
        "a borrowed string" => "a string".to_owned(),
        text if text.starts_with("struct ") => "an object".to_owned(),
        _ => text,
    }
}

fn kind(found: Unexpected<'_>) -> &'static str {
    match found {
        Unexpected::Bool(_) => "a boolean",
        Unexpected::Unsigned(_) | Unexpected::Signed(_) | Unexpected::Float(_) => "a number",
        Unexpected::Char(_) | Unexpected::Str(_) | Unexpected::Bytes(_) => "a string",
        Unexpected::Unit | Unexpected::Option => "null",
        Unexpected::Seq => "an array",
        Unexpected::Map => "an object",
        _ => "this",
    }
}

#[derive(Clone, Copy)]
enum Input<'de> {
    Value(&'de Value),
    /// A member name.
    Name(&'de str),
}

#[derive(Clone, Copy)]
struct Node<'de> {
    input: Input<'de>,
}

impl<'de> Node<'de> {
    fn unexpected(self) -> Unexpected<'de> {
        match self.input {
            Input::Name(name) => Unexpected::Str(name),
            Input::Value(Value::Null) => Unexpected::Unit,
            Input::Value(Value::Bool(value)) => Unexpected::Bool(*value),
            Input::Value(Value::Number(_)) => Unexpected::Unsigned(0),
            Input::Value(Value::String(text)) => Unexpected::Str(text),
            Input::Value(Value::Array(_)) => Unexpected::Seq,
            Input::Value(Value::Object(_)) => Unexpected::Map,
        }
    }
}

impl<'de> Deserializer<'de> for Node<'de> {
    type Error = Refusal;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match self.input {
            Input::Name(name) => visitor.visit_borrowed_str(name),
            Input::Value(Value::Null) => visitor.visit_unit(),
            Input::Value(Value::Bool(value)) => visitor.visit_bool(*value),
            Input::Value(Value::Number(number)) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(value), _, _) => visitor.visit_u64(value),
                (_, Some(value), _) => visitor.visit_i64(value),
                (_, _, Some(value)) => visitor.visit_f64(value),
                _ => Err(de::Error::invalid_value(self.unexpected(), &"a number of 64 bits")),
            },
            Input::Value(Value::String(text)) => visitor.visit_borrowed_str(text),
            Input::Value(Value::Array(elements)) => {
                let mut access = Elements { rest: elements.iter(), next_index: 0 };
                let value = visitor.visit_seq(&mut access)?;
                match access.rest.len() {
                    0 => Ok(value),
                    _ => Err(de::Error::invalid_length(elements.len(), &"shorter")),
                }
            }
            Input::Value(Value::Object(members)) => visitor.visit_map(Members { rest: members.iter(), current: None }),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match self.input {
            Input::Value(Value::Null) => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Refusal> {
        visitor.visit_newtype_struct(self)
    }

    /// serde_json's own map would take `null` for an empty one.
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match self.input {
            Input::Value(Value::Object(_)) => self.deserialize_any(visitor),
            _ => Err(de::Error::invalid_type(self.unexpected(), &"an object")),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        match self.input {
            Input::Value(Value::Object(_)) => self.deserialize_any(visitor),
            _ => Err(de::Error::invalid_type(self.unexpected(), &"an object")),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        match self.input {
            Input::Name(name) => visitor.visit_enum(Variant { name, content: None }),
            Input::Value(Value::String(name)) => visitor.visit_enum(Variant { name, content: None }),
            Input::Value(Value::Object(members)) if members.len() == 1 => {
                let (name, content) = members.iter().next().expect("one member");
                visitor.visit_enum(Variant { name, content: Some(content) })
            }
            Input::Value(_) => Err(de::Error::invalid_type(self.unexpected(), &"a name, or an object with one member")),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct identifier ignored_any
    }
}

struct Elements<'de> {
    rest: std::slice::Iter<'de, Value>,
    next_index: usize,
}

impl<'de> SeqAccess<'de> for &mut Elements<'de> {
    type Error = Refusal;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Refusal> {
        let Some(element) = self.rest.next() else { return Ok(None) };
        let index = self.next_index;
        self.next_index += 1;
        let value = seed.deserialize(Node { input: Input::Value(element) });
        value.map(Some).map_err(|refusal| refusal.inside(pointer::element("", index)))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

struct Members<'de> {
    rest: serde_json::map::Iter<'de>,
    current: Option<(&'de str, &'de Value)>,
}

impl<'de> MapAccess<'de> for Members<'de> {
    type Error = Refusal;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Refusal> {
        let Some((name, value)) = self.rest.next() else { return Ok(None) };
        self.current = Some((name, value));
        seed.deserialize(Node { input: Input::Name(name) }).map(Some).map_err(|refusal| match refusal.error.pointer.as_str() {
            // The name itself is bad; an unknown member points to itself already.
            "" => refusal.inside(pointer::member("", name)),
            _ => refusal,
        })
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Refusal> {
        let (name, value) = self.current.take().ok_or_else(|| <Refusal as de::Error>::custom("a value before its name"))?;
        seed.deserialize(Node { input: Input::Value(value) }).map_err(|refusal| refusal.inside(pointer::member("", name)))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

struct Variant<'de> {
    name: &'de str,
    content: Option<&'de Value>,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = Refusal;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Refusal> {
        seed.deserialize(Node { input: Input::Name(self.name) }).map(|variant| (variant, self))
    }
}

impl<'de> Variant<'de> {
    fn with_content<T>(self, read: impl FnOnce(Node<'de>) -> Result<T, Refusal>) -> Result<T, Refusal> {
        let Some(content) = self.content else {
            return Err(de::Error::invalid_type(Unexpected::Str(self.name), &"an object with one member"));
        };
        read(Node { input: Input::Value(content) }).map_err(|refusal| refusal.inside(pointer::member("", self.name)))
    }
}

impl<'de> VariantAccess<'de> for Variant<'de> {
    type Error = Refusal;

    fn unit_variant(self) -> Result<(), Refusal> {
        match self.content {
            None | Some(Value::Null) => Ok(()),
            Some(_) => Err(de::Error::invalid_type(Unexpected::Map, &"a string")),
        }
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Refusal> {
        self.with_content(|content| seed.deserialize(content))
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Refusal> {
        self.with_content(|content| content.deserialize_tuple(length, visitor))
    }

    fn struct_variant<V: Visitor<'de>>(self, fields: &'static [&'static str], visitor: V) -> Result<V::Value, Refusal> {
        self.with_content(|content| content.deserialize_struct("", fields, visitor))
    }
}

#[cfg(test)]
mod tests;
