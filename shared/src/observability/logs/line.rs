//! Builds one log line: a flat JSON object whose keys keep the order in which they were added.

use std::fmt::{self, Write as _};

use tracing::field::{Field, Visit};

/// Longer texts are cut. Whatever is longer is not a reason but a body, and bodies have no place in a log.
const MAX_TEXT_BYTES: usize = 1_024;

/// Keys that every line begins with; a field of the same name gets an underscore, since a key must not appear twice.
const RESERVED_KEYS: [&str; 4] = ["timestamp", "level", "message", "target"];

/// Fields in the order they were recorded, each with its value as JSON.
#[derive(Debug, Default, Clone)]
pub(super) struct Fields(Vec<(&'static str, String)>);

impl Fields {
    /// Takes the value out of the field `key`.
    pub(super) fn take(&mut self, key: &str) -> Option<String> {
        let index = self.0.iter().position(|(known, _)| *known == key)?;
        Some(self.0.remove(index).1)
    }

    /// Adds the fields of an enclosing span, except those that are known already: what is nearer to the event wins.
    pub(super) fn add_missing(&mut self, outer: &Self) {
        for (key, value) in &outer.0 {
            if !self.has(key) {
                self.0.push((key, value.clone()));
            }
        }
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    fn has(&self, key: &str) -> bool {
        self.0.iter().any(|(known, _)| *known == key)
    }

    /// Sets a field; a span's field may be recorded again with another value.
    fn set(&mut self, field: &Field, json: String) {
        let key = field.name();
        match self.0.iter_mut().find(|(known, _)| *known == key) {
            Some((_, value)) => *value = json,
            None => self.0.push((key, json)),
        }
    }

    fn set_text(&mut self, field: &Field, text: &Capped) {
        self.set(field, text.to_json());
    }
}

impl Visit for Fields {
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field, value.to_string());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field, value.to_string());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set(field, value.to_string());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        // JSON has no word for what is not finite; serde_json writes null.
        self.set(field, serde_json::Value::from(value).to_string());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        let mut text = Capped::default();
        text.push(value);
        self.set_text(field, &text);
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        let mut text = Capped::default();
        // Writing to `Capped` fails only when it is full, and then the rest is not wanted.
        let _ = write!(text, "{value}");
        let mut source = value.source();
        while let Some(error) = source {
            let _ = write!(text, ": {error}");
            source = error.source();
        }
        self.set_text(field, &text);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let mut text = Capped::default();
        let _ = write!(text, "{value:?}");
        self.set_text(field, &text);
    }
}

/// Collects text up to the limit, so that formatting a huge value takes neither memory nor time.
#[derive(Default)]
struct Capped {
    text: String,
    is_cut: bool,
}

impl Capped {
    /// Adds what there is room for, up to a character's border.
    fn push(&mut self, more: &str) {
        let room = MAX_TEXT_BYTES - self.text.len();
        self.text.push_str(&more[..more.floor_char_boundary(room)]);
        self.is_cut |= more.len() > room;
    }

    fn to_json(&self) -> String {
        if self.is_cut { json_text(&format!("{}…", self.text)) } else { json_text(&self.text) }
    }
}

impl fmt::Write for Capped {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.is_cut {
            return Err(fmt::Error);
        }
        self.push(text);
        Ok(())
    }
}

/// A line under construction.
pub(super) struct Line(String);

impl Line {
    /// Begins a line with the keys that all lines have.
    pub(super) fn new(timestamp: impl fmt::Display, level: tracing::Level, message_json: &str) -> Self {
        let mut line = String::with_capacity(512);
        let _ = write!(line, r#"{{"timestamp":"{timestamp}","level":"{level}","message":{message_json}"#);
        Self(line)
    }

    /// Adds a text of our own choosing under one of the reserved keys.
    pub(super) fn text(&mut self, key: &'static str, value: &str) {
        let _ = write!(self.0, r#","{key}":{}"#, json_text(value));
    }

    /// Adds all fields.
    pub(super) fn fields(&mut self, fields: &Fields) {
        for (key, value) in &fields.0 {
            let underscore = if RESERVED_KEYS.contains(key) { "_" } else { "" };
            let _ = write!(self.0, r#","{key}{underscore}":{value}"#);
        }
    }

    /// Ends the line, line break included.
    pub(super) fn finish(mut self) -> String {
        self.0.push_str("}\n");
        self.0
    }
}

fn json_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
