//! All errors of a payload at once, read off its JSON Schema.
//!
//! serde decides what is accepted; this runs only after it has refused, so that a sender learns about every bad member in one answer. It knows the
//! part of JSON Schema that is generated from payload types: `$ref`, `type`, `const`, `enum`, `properties`, `required`, `additionalProperties`, `items`,
//! lengths, limits, `anyOf`/`oneOf` and our own formats. What it does not know it lets pass.

use serde_json::{Map, Value};

use super::field_error::FieldError;
use super::payload_decode::{MISSING, one_of, unknown_member};
use super::payloads::{
    AMOUNT_FORMAT, Amount, CURRENCY_FORMAT, Currency, PERIOD_FORMAT, Period, REFERENCE_ID_FORMAT, ReferenceId,
};
use super::pointer;

/// Errors that are listed at most: a payload can have thousands of unknown members.
const MAX_ERRORS: usize = 20;

/// `$ref` chains and nesting that are followed at most: a payload type may refer to itself.
const MAX_DEPTH: usize = 64;

/// The errors of `payload` against `schema`. Pointers start at the payload.
pub(crate) fn errors(schema: &Value, payload: &Value) -> Vec<FieldError> {
    let mut check = Check { root: schema, errors: Vec::new(), depth: 0 };
    check.value(schema, payload, "");
    check.errors.truncate(MAX_ERRORS);
    check.errors
}

struct Check<'s> {
    root: &'s Value,
    errors: Vec<FieldError>,
    depth: usize,
}

impl<'s> Check<'s> {
    fn value(&mut self, schema: &'s Value, value: &Value, at: &str) {
        if self.depth == MAX_DEPTH || self.errors.len() >= MAX_ERRORS {
            return;
        }
        self.depth += 1;
        self.keywords(schema, value, at);
        self.depth -= 1;
    }

    fn keywords(&mut self, schema: &'s Value, value: &Value, at: &str) {
        let reference = schema.get("$ref").and_then(Value::as_str).and_then(|reference| reference.strip_prefix('#'));
        if let Some(target) = reference.and_then(|target| self.root.pointer(target)) {
            self.value(target, value, at);
        }
        if let Some(types) = schema.get("type") {
            let names = type_names(types);
            if !names.iter().any(|name| is_of_type(value, name)) {
                let message = format!("must be {}{}, not {}", wanted(&names), example(schema), kind(value));
                return self.refuse(at, "wrong_type", message);
            }
        }
        self.closed_list(schema, value, at);
        self.branches(schema, value, at);
        match value {
            Value::Object(members) => self.members(schema, members, at),
            Value::Array(elements) => self.elements(schema, elements, at),
            Value::String(text) => self.text(schema, text, at),
            Value::Number(number) => self.number(schema, number, at),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn closed_list(&mut self, schema: &Value, value: &Value, at: &str) {
        let constant = schema.get("const").map(std::slice::from_ref);
        let Some(allowed) = schema.get("enum").and_then(Value::as_array).map(Vec::as_slice).or(constant) else { return };
        if !allowed.contains(value) {
            let names: Vec<&str> = allowed.iter().filter_map(Value::as_str).collect();
            self.refuse(at, "invalid_value", one_of(&names));
        }
    }

    /// One of several schemas: the errors of the one that comes closest.
    fn branches(&mut self, schema: &'s Value, value: &Value, at: &str) {
        let Some(branches) = schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Value::as_array) else { return };
        // An enum whose variants have descriptions: a list of names in a longer form.
        let names: Option<Vec<&str>> = branches.iter().map(|branch| branch.get("const").and_then(Value::as_str)).collect();
        if let Some(names) = names {
            if !value.as_str().is_some_and(|value| names.contains(&value)) {
                self.refuse(at, "invalid_value", one_of(&names));
            }
            return;
        }
        let closest = branches
            .iter()
            .map(|branch| {
                let mut check = Check { root: self.root, errors: Vec::new(), depth: self.depth };
                check.value(branch, value, at);
                check.errors
            })
            // A branch of another JSON type is further away than one with any number of wrong members.
            .min_by_key(|errors| (errors.iter().any(|error| error.pointer == at), errors.len()));
        self.errors.extend(closest.unwrap_or_default());
    }

    fn members(&mut self, schema: &'s Value, members: &Map<String, Value>, at: &str) {
        let properties = schema.get("properties").and_then(Value::as_object);
        for name in schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
            if !members.contains_key(name) {
                self.refuse(&pointer::member(at, name), "missing_member", MISSING.to_owned());
            }
        }
        // A map whose names follow a pattern: serde checks the names, the pattern's schema is the one of the values.
        let by_pattern = schema.get("patternProperties").and_then(Value::as_object).and_then(|patterns| patterns.values().next());
        let others = by_pattern.or_else(|| schema.get("additionalProperties"));
        for (name, value) in members {
            match (properties.and_then(|properties| properties.get(name)), others) {
                (Some(property), _) => self.value(property, value, &pointer::member(at, name)),
                (None, Some(Value::Bool(false))) => {
                    let known = properties.into_iter().flat_map(|properties| properties.keys().map(String::as_str));
                    self.refuse(&pointer::member(at, name), "unknown_member", unknown_member(name, known));
                }
                (None, Some(other)) => self.value(other, value, &pointer::member(at, name)),
                (None, None) => {}
            }
        }
    }

    fn elements(&mut self, schema: &'s Value, elements: &[Value], at: &str) {
        let outside = limit(schema, "minItems").is_some_and(|least| elements.len() < least)
            || limit(schema, "maxItems").is_some_and(|most| elements.len() > most);
        if outside {
            self.refuse(at, "invalid_length", format!("must have {} elements", range(schema, "minItems", "maxItems")));
        }
        let first = schema.get("prefixItems").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for (index, element) in elements.iter().enumerate() {
            if let Some(item) = first.get(index).or_else(|| schema.get("items")) {
                self.value(item, element, &pointer::element(at, index));
            }
        }
    }

    fn text(&mut self, schema: &Value, text: &str, at: &str) {
        let broken = match schema.get("format").and_then(Value::as_str) {
            Some(REFERENCE_ID_FORMAT) => ReferenceId::parse(text).err().map(|error| error.to_string()),
            Some(PERIOD_FORMAT) => Period::parse(text).err().map(|error| error.to_string()),
            Some(AMOUNT_FORMAT) => Amount::parse(text).err().map(|error| error.to_string()),
            Some(CURRENCY_FORMAT) => Currency::parse(text).err().map(|error| error.to_string()),
            _ => return self.length(schema, text, at),
        };
        if let Some(rule) = broken {
            self.refuse(at, "invalid_value", rule);
        }
    }

    fn length(&mut self, schema: &Value, text: &str, at: &str) {
        let length = text.chars().count();
        let outside = limit(schema, "minLength").is_some_and(|least| length < least)
            || limit(schema, "maxLength").is_some_and(|most| length > most);
        if outside {
            self.refuse(at, "invalid_length", format!("must have {} characters", range(schema, "minLength", "maxLength")));
        }
    }

    fn number(&mut self, schema: &Value, number: &serde_json::Number, at: &str) {
        let Some(number) = number.as_i128() else { return };
        let (least, most) = integer_limits(schema);
        if number < least || number > most {
            self.refuse(at, "invalid_value", format!("must be an integer from {least} to {most}"));
        }
    }

    fn refuse(&mut self, at: &str, code: &'static str, message: String) {
        self.errors.push(FieldError::new(at, code, message));
    }
}

fn limit(schema: &Value, keyword: &str) -> Option<usize> {
    schema.get(keyword).and_then(Value::as_u64).and_then(|limit| usize::try_from(limit).ok())
}

fn range(schema: &Value, least: &str, most: &str) -> String {
    match (limit(schema, least), limit(schema, most)) {
        (Some(least), Some(most)) if least == most => format!("{least}"),
        (Some(least), Some(most)) => format!("{least} to {most}"),
        (Some(least), None) => format!("at least {least}"),
        (None, Some(most)) => format!("at most {most}"),
        (None, None) => "any number of".to_owned(),
    }
}

/// The narrower of what the Rust type holds (its name is the `format`) and what `minimum` and `maximum` say.
fn integer_limits(schema: &Value) -> (i128, i128) {
    let (least, most) = match schema.get("format").and_then(Value::as_str) {
        Some("uint8") => (0, i128::from(u8::MAX)),
        Some("uint16") => (0, i128::from(u16::MAX)),
        Some("uint32") => (0, i128::from(u32::MAX)),
        Some("uint64" | "uint") => (0, i128::from(u64::MAX)),
        Some("int8") => (i128::from(i8::MIN), i128::from(i8::MAX)),
        Some("int16") => (i128::from(i16::MIN), i128::from(i16::MAX)),
        Some("int32") => (i128::from(i32::MIN), i128::from(i32::MAX)),
        _ => (i128::from(i64::MIN), i128::from(u64::MAX)),
    };
    let read = |keyword| schema.get(keyword).and_then(Value::as_number).and_then(serde_json::Number::as_i128);
    (read("minimum").map_or(least, |minimum| least.max(minimum)), read("maximum").map_or(most, |maximum| most.min(maximum)))
}

fn type_names(types: &Value) -> Vec<&str> {
    match types {
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        name => name.as_str().into_iter().collect(),
    }
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    }
}

fn wanted(names: &[&str]) -> String {
    let words: Vec<&str> = names
        .iter()
        .map(|&name| match name {
            "boolean" => "a boolean",
            "integer" => "an integer",
            "number" => "a number",
            "string" => "a string",
            "array" => "an array",
            "object" => "an object",
            other => other,
        })
        .collect();
    words.join(" or ")
}

/// A schema's own example, for errors about the type: the mend.
fn example(schema: &Value) -> String {
    schema.pointer("/examples/0").map(|example| format!(" such as {example}")).unwrap_or_default()
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
