//! The mails that can be sent: a subject, a text and an HTML body for each template and locale, compiled into the function.
//!
//! What is guaranteed of a [`Rendered`] mail:
//! - Every variable was there. They are declared with the template and checked before anything is rendered; a missing, null or blank
//!   one is an error that names it.
//! - HTML is escaped exactly once, always. The environment starts empty, so there is no `safe` filter and nothing else that could
//!   switch escaping off; `{% autoescape false %}` has no effect. Text and subject are not escaped.
//! - Links lead to `http` or `https` and nowhere else, and hide no user name before their host.
//! - The subject is one line: a line break or other control character in a variable becomes a space there. (It is folded rather than
//!   refused: a stray break at the end of an imported name is no reason to withhold a receipt.)

mod built_in;
mod engine;
mod link;

use std::{collections::BTreeMap, fmt};

use self::engine::Engine;
pub use self::{built_in::BUILT_IN, link::LinkProblem};

/// The locale that every template has, and that is used when a contact's own is not there.
pub const DEFAULT_LOCALE: &str = "en";

/// The source of one template in one locale.
#[derive(Clone, Copy, Debug)]
pub struct TemplateSource {
    /// What a job calls it, for example `welcome`.
    pub id: &'static str,
    /// A BCP 47 tag, for example `en` or `pt-BR`.
    pub locale: &'static str,
    /// Subject line, not escaped.
    pub subject: &'static str,
    /// Plain-text body, not escaped.
    pub text: &'static str,
    /// HTML body, every variable escaped.
    pub html: &'static str,
    /// All variables that the three parts use, no more and no fewer.
    pub variables: &'static [Variable],
}

/// A variable of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    name: &'static str,
    is_link: bool,
    is_required: bool,
}

impl Variable {
    /// Any text; the mail cannot be sent without it.
    #[must_use]
    pub const fn text(name: &'static str) -> Self {
        Self { name, is_link: false, is_required: true }
    }

    /// An absolute `http` or `https` address; the mail cannot be sent without it.
    #[must_use]
    pub const fn link(name: &'static str) -> Self {
        Self { name, is_link: true, is_required: true }
    }

    /// The same variable, but it may be missing; the template sees an empty text then (`{% if name %}`).
    #[must_use]
    pub const fn optional(self) -> Self {
        Self { is_required: false, ..self }
    }

    /// The value to render with. What nobody can see counts as missing.
    fn value_in<'v>(&self, variables: &'v BTreeMap<String, String>, template: &'static str) -> Result<&'v str, TemplateError> {
        let value = variables.get(self.name).map_or("", String::as_str);
        if value.trim().is_empty() {
            return if self.is_required { Err(TemplateError::VariableMissing { template, variable: self.name }) } else { Ok("") };
        }
        if self.is_link {
            link::check_link(value).map_err(|problem| TemplateError::VariableNotALink {
                template,
                variable: self.name,
                problem,
            })?;
        }
        Ok(value)
    }
}

/// A mail's content, ready to be put into a message.
#[derive(Clone, PartialEq, Eq)]
pub struct Rendered {
    /// One line, never empty.
    pub subject: String,
    /// Plain-text body.
    pub text: String,
    /// HTML body.
    pub html: String,
}

/// Shows nothing of the content: it is personal.
impl fmt::Debug for Rendered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rendered(redacted)")
    }
}

/// A checked set of templates.
#[derive(Debug)]
pub struct Templates {
    engine: Engine,
    by_id: BTreeMap<&'static str, Vec<&'static TemplateSource>>,
}

impl Templates {
    /// The templates that come with the function.
    ///
    /// # Errors
    /// As [`Templates::new`].
    pub fn built_in() -> Result<Self, TemplateSetError> {
        Self::new(BUILT_IN)
    }

    /// Compiles and checks a set of templates, so that a mistake in one shows when the function starts and not when a mail is due.
    ///
    /// # Errors
    /// Names the template and what is wrong with it: a syntax error, a variable used but not declared or declared but not used, a
    /// link attribute that is not exactly `{{ variable | link }}`, a duplicate, or an id without [`DEFAULT_LOCALE`].
    pub fn new(sources: &'static [TemplateSource]) -> Result<Self, TemplateSetError> {
        let mut by_id: BTreeMap<&'static str, Vec<&'static TemplateSource>> = BTreeMap::new();
        for source in sources {
            let locales = by_id.entry(source.id).or_default();
            if locales.iter().any(|other| other.locale.eq_ignore_ascii_case(source.locale)) {
                return Err(TemplateSetError::new(source, "is there twice"));
            }
            locales.push(source);
        }
        if let Some(source) =
            by_id.values().find(|locales| !locales.iter().any(|source| source.locale == DEFAULT_LOCALE)).map(|all| all[0])
        {
            return Err(TemplateSetError::new(source, format!("needs a version in the default locale {DEFAULT_LOCALE:?}")));
        }
        Ok(Self { engine: Engine::new(sources)?, by_id })
    }

    /// The ids a job may name, in alphabetical order.
    pub fn ids(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.by_id.keys().copied()
    }

    /// Renders a template in the closest locale there is: `pt-BR`, then `pt`, then [`DEFAULT_LOCALE`].
    ///
    /// Variables that the template does not declare are ignored.
    ///
    /// # Errors
    /// When the id is unknown, or a variable is missing or not a link. All are permanent: the same call fails again. None holds a
    /// variable's value.
    pub fn render(
        &self,
        id: &str,
        locale: Option<&str>,
        variables: &BTreeMap<String, String>,
    ) -> Result<Rendered, TemplateError> {
        let locales = self.by_id.get(id).ok_or(TemplateError::Unknown)?;
        let source = closest(locales, locale.unwrap_or(DEFAULT_LOCALE));
        let values = source
            .variables
            .iter()
            .map(|variable| Ok((variable.name, variable.value_in(variables, source.id)?)))
            .collect::<Result<BTreeMap<_, _>, TemplateError>>()?;
        let rendered = self.engine.render(source, &values)?;
        if rendered.subject.is_empty() {
            return Err(TemplateError::SubjectEmpty { template: source.id });
        }
        Ok(rendered)
    }
}

/// The version whose locale shares the longest prefix of subtags with the wanted one.
fn closest(locales: &[&'static TemplateSource], wanted: &str) -> &'static TemplateSource {
    let wanted = wanted.replace('_', "-");
    let mut prefix = wanted.as_str();
    loop {
        if let Some(source) = locales.iter().find(|source| source.locale.eq_ignore_ascii_case(prefix)) {
            return source;
        }
        // Every id has the default locale (checked when the set was made), so the search ends there at the latest.
        prefix = match prefix.rsplit_once('-') {
            Some((parent, _)) => parent,
            None if prefix == DEFAULT_LOCALE => return locales[0],
            None => DEFAULT_LOCALE,
        };
    }
}

/// Why a mail could not be rendered. Permanent in every case; never holds a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// No template of that id.
    #[error("templateId names no template of this function")]
    Unknown,
    /// A variable is not there, null or blank.
    #[error(
        "template {template:?} needs the variable {variable:?}, which is missing, null or blank: add it to the contact or the job"
    )]
    VariableMissing {
        /// The template.
        template: &'static str,
        /// The variable.
        variable: &'static str,
    },
    /// A variable is not an address that a link may have.
    #[error("template {template:?} uses the variable {variable:?} as a link, but {problem}")]
    VariableNotALink {
        /// The template.
        template: &'static str,
        /// The variable.
        variable: &'static str,
        /// What is wrong with it.
        problem: LinkProblem,
    },
    /// Nothing was left for the subject line.
    #[error("template {template:?} renders an empty subject")]
    SubjectEmpty {
        /// The template.
        template: &'static str,
    },
    /// The template itself failed.
    #[error("template {template:?} cannot be rendered: {reason} in line {line} of its {part}")]
    Broken {
        /// The template.
        template: &'static str,
        /// `subject`, `text` or `html`.
        part: &'static str,
        /// Line in that part, from 1.
        line: usize,
        /// The kind of mistake in the template engine's words.
        reason: String,
    },
}

impl TemplateError {
    /// A stable name for records, metrics and alarms.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unknown => "unknown_template",
            Self::VariableMissing { .. } => "template_variable_missing",
            Self::VariableNotALink { .. } => "template_variable_not_a_link",
            Self::SubjectEmpty { .. } => "template_subject_empty",
            Self::Broken { .. } => "template_broken",
        }
    }
}

/// Why a set of templates cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("template {id:?} ({locale}) {problem}")]
pub struct TemplateSetError {
    id: &'static str,
    locale: &'static str,
    problem: String,
}

impl TemplateSetError {
    fn new(source: &TemplateSource, problem: impl Into<String>) -> Self {
        Self { id: source.id, locale: source.locale, problem: problem.into() }
    }
}

#[cfg(test)]
mod tests;
