//! The template engine, cut down to what a mail needs.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::{self, Write as _},
};

use minijinja::{AutoEscape, Environment, Error, ErrorKind, Output, State, UndefinedBehavior, Value};

use super::{Rendered, TemplateError, TemplateSetError, TemplateSource, link};
use crate::address::is_line_breaking;

const HTML: &str = "html";

pub(super) struct Engine(Environment<'static>);

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Engine")
    }
}

impl Engine {
    pub(super) fn new(sources: &'static [TemplateSource]) -> Result<Self, TemplateSetError> {
        // Empty on purpose: what is not there cannot be misused. `safe` and `escape`, which would skip or double the escaping, above all.
        let mut environment = Environment::empty();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_auto_escape_callback(|name| if is_html(name) { AutoEscape::Html } else { AutoEscape::None });
        environment.set_formatter(write_value);
        environment.add_filter("link", link_filter);
        let mut engine = Self(environment);
        for source in sources {
            engine.add(source)?;
        }
        Ok(engine)
    }

    fn add(&mut self, source: &'static TemplateSource) -> Result<(), TemplateSetError> {
        let mut used = BTreeSet::new();
        for (part, text) in parts(source) {
            let name = name_of(source, part);
            self.0
                .add_template_owned(name.clone(), text)
                .map_err(|error| TemplateSetError::new(source, format!("has a mistake in its {part}: {error}")))?;
            let template = self.0.get_template(&name).map_err(|error| TemplateSetError::new(source, error.to_string()))?;
            used.extend(template.undeclared_variables(false));
        }
        let declared: BTreeSet<String> = source.variables.iter().map(|variable| variable.name.to_owned()).collect();
        if let Some(name) = used.difference(&declared).next() {
            return Err(TemplateSetError::new(source, format!("uses the variable {name:?} without declaring it")));
        }
        if let Some(name) = declared.difference(&used).next() {
            return Err(TemplateSetError::new(source, format!("declares the variable {name:?} but does not use it")));
        }
        check_attributes(source)
    }

    pub(super) fn render(
        &self,
        source: &TemplateSource,
        values: &BTreeMap<&'static str, &str>,
    ) -> Result<Rendered, TemplateError> {
        let context = Value::from_pairs(values.iter().map(|(&name, &value)| (name, value)));
        let part = |part| {
            let broken = |error: Error| TemplateError::Broken {
                template: source.id,
                part,
                line: error.line().unwrap_or(1),
                // The engine's detail may quote a value, its kind never does.
                reason: error.kind().to_string(),
            };
            self.0.get_template(&name_of(source, part)).map_err(broken)?.render(context.clone()).map_err(broken)
        };
        Ok(Rendered { subject: one_line(&part("subject")?), text: part("text")?, html: part(HTML)? })
    }
}

fn parts(source: &'static TemplateSource) -> [(&'static str, &'static str); 3] {
    [("subject", source.subject), ("text", source.text), (HTML, source.html)]
}

fn name_of(source: &TemplateSource, part: &str) -> String {
    format!("{}/{}.{part}", source.id, source.locale)
}

fn is_html(name: &str) -> bool {
    name.rsplit('.').next() == Some(HTML)
}

/// Writes one value. What is HTML is decided by the template's name and not by the engine's escape state, which a template can change.
fn write_value(out: &mut Output<'_>, state: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    if value.is_undefined() || value.is_none() {
        return Err(ErrorKind::UndefinedError.into());
    }
    // A "safe" value can only be a captured block here, whose values came through this function before.
    if !is_html(state.name()) || value.is_safe() {
        return Ok(write!(out, "{value}")?);
    }
    for character in value.to_string().chars() {
        match character {
            '&' => out.write_str("&amp;")?,
            '<' => out.write_str("&lt;")?,
            '>' => out.write_str("&gt;")?,
            '"' => out.write_str("&quot;")?,
            '\'' => out.write_str("&#39;")?,
            _ => out.write_char(character)?,
        }
    }
    Ok(())
}

/// Lets links through and nothing else. Declared links were checked before, by name; this holds whatever else a template pipes in.
fn link_filter(text: &str) -> Result<String, Error> {
    match link::check_link(text) {
        Ok(()) => Ok(text.to_owned()),
        Err(problem) => Err(Error::new(ErrorKind::InvalidOperation, problem.to_string())),
    }
}

/// One line without anything that could start a header: each run of control characters becomes one space.
fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    let mut in_break = false;
    for character in text.trim().chars() {
        match (is_line_breaking(character), in_break) {
            (true, false) => line.push(' '),
            (true, true) => {}
            (false, _) => line.push(character),
        }
        in_break = is_line_breaking(character);
    }
    line
}

/// Checks where variables stand in HTML attributes: escaping protects only inside quotes, and a URL attribute needs more than escaping.
fn check_attributes(source: &'static TemplateSource) -> Result<(), TemplateSetError> {
    let html = source.html;
    let lower = html.to_ascii_lowercase();
    if lower.contains("={{") || lower.contains("={%") {
        return Err(TemplateSetError::new(source, "has an attribute without quotes around its variable"));
    }
    for attribute in ["href=", "src=", "action="] {
        for (at, _) in lower.match_indices(attribute) {
            let quoted = html[at + attribute.len()..].strip_prefix('"').and_then(|rest| rest.split_once('"'));
            let Some((value, _)) = quoted else {
                return Err(TemplateSetError::new(source, format!("needs double quotes around the value of each {attribute}")));
            };
            if value.contains('{') && !is_checked_link(source, value) {
                return Err(TemplateSetError::new(
                    source,
                    format!("needs {attribute}\"{{{{ variable | link }}}}\" with a declared link"),
                ));
            }
        }
    }
    Ok(())
}

fn is_checked_link(source: &TemplateSource, value: &str) -> bool {
    let inner = value.strip_prefix("{{").and_then(|value| value.strip_suffix("}}")).and_then(|inner| inner.split_once('|'));
    inner.is_some_and(|(name, filter)| {
        filter.trim() == "link" && source.variables.iter().any(|variable| variable.is_link && variable.name == name.trim())
    })
}
