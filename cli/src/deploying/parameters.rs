//! The values that a stack's parameters get.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use aws_sdk_cloudformation::types::Parameter;

/// Values by name.
pub type Values = BTreeMap<String, String>;

/// Why the parameters do not do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ParameterError {
    /// The template does not have it.
    #[error("the template has no parameter `{name}`{}; docs/deploy.md lists them all", near.as_ref().map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default())]
    Unknown {
        /// What was given.
        name: String,
        /// What may have been meant.
        near: Option<String>,
    },
    /// One without a default was not given.
    #[error(
        "the parameter `{name}` has no default, and this stack has no value of it yet: give it with `--parameter {name}={example}`"
    )]
    Missing {
        /// Which one.
        name: String,
        /// A value that it could have.
        example: &'static str,
    },
    /// An argument is no pair.
    #[error("`{0}` is not NAME=VALUE")]
    NoPair(String),
    /// The file cannot be read.
    #[error("cannot read the parameters file `{}`", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The file is not what it has to be.
    #[error("the parameters file `{}` is not a JSON object of texts, numbers, true and false, such as {{\"EmailFrom\": \"mail@example.com\"}}", path.display())]
    FileShape {
        /// Which file.
        path: PathBuf,
    },
}

/// A parameter that a template declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared {
    /// Its name.
    pub name: String,
    /// Its default, as it is written.
    pub default: Option<String>,
}

/// The parameters that a template declares. Reads the section by its indentation, as this kit's templates are written.
#[must_use]
pub fn declared(template: &str) -> Vec<Declared> {
    let mut found: Vec<Declared> = Vec::new();
    let section = template.lines().skip_while(|line| line.trim_end() != "Parameters:").skip(1);
    for line in section.take_while(|line| line.is_empty() || line.starts_with([' ', '#'])) {
        let text = line.trim();
        match line.len() - line.trim_start().len() {
            2 if !text.starts_with('#') => {
                if let Some(name) = text.strip_suffix(':') {
                    found.push(Declared { name: name.to_owned(), default: None });
                }
            }
            4 => {
                if let (Some(value), Some(parameter)) = (text.strip_prefix("Default:"), found.last_mut()) {
                    parameter.default = Some(value.trim().trim_matches(['\'', '"']).to_owned());
                }
            }
            _ => {}
        }
    }
    found
}

/// Reads `NAME=VALUE`.
///
/// # Errors
/// There is no `=`, or nothing before it.
pub fn pair(text: &str) -> Result<(String, String), ParameterError> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(ParameterError::NoPair(text.to_owned())),
    }
}

/// Reads a file of values: one JSON object.
///
/// # Errors
/// It cannot be read, or has another shape.
pub fn file(path: &Path) -> Result<Values, ParameterError> {
    let text = std::fs::read_to_string(path).map_err(|source| ParameterError::File { path: path.to_owned(), source })?;
    let shape = || ParameterError::FileShape { path: path.to_owned() };
    let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&text).map_err(|_| shape())?;
    let value = |value: serde_json::Value| match value {
        serde_json::Value::String(text) => Some(text),
        serde_json::Value::Number(_) | serde_json::Value::Bool(_) => Some(value.to_string()),
        _ => None,
    };
    object.into_iter().map(|(name, found)| Some((name, value(found)?))).collect::<Option<_>>().ok_or_else(shape)
}

/// What a change set is told: what was given; else what the stack has; else nothing, which is the template's default.
///
/// # Errors
/// One without a default has no value.
pub fn chosen(declared: &[Declared], given: &Values, stack_has: &BTreeSet<String>) -> Result<Vec<Parameter>, ParameterError> {
    let mut chosen = Vec::new();
    for Declared { name, default } in declared {
        let parameter = Parameter::builder().parameter_key(name);
        if let Some(value) = given.get(name) {
            chosen.push(parameter.parameter_value(value).build());
        } else if stack_has.contains(name) {
            chosen.push(parameter.use_previous_value(true).build());
        } else if default.is_none() {
            return Err(ParameterError::Missing { name: name.clone(), example: example(name) });
        }
    }
    Ok(chosen)
}

/// Every given value belongs to a parameter of one of the templates.
///
/// # Errors
/// One does not.
pub fn known(given: &Values, templates: &[&[Declared]]) -> Result<(), ParameterError> {
    let names = || templates.iter().flat_map(|declared| declared.iter().map(|parameter| parameter.name.as_str()));
    let unknown = given.keys().find(|name| !names().any(|known| known == name.as_str()));
    let Some(name) = unknown else { return Ok(()) };
    let near = names().find(|known| known.eq_ignore_ascii_case(name)).or_else(|| {
        let (lower, long_enough) = (name.to_ascii_lowercase(), name.len() >= 4);
        names().find(|known| long_enough && known.to_ascii_lowercase().contains(&lower))
    });
    Err(ParameterError::Unknown { name: name.clone(), near: near.map(str::to_owned) })
}

fn example(name: &str) -> &'static str {
    if name == "EmailFrom" { "mail@example.com" } else { "VALUE" }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEMPLATE: &str = "Description: Parameters here
Parameters:
  # ---- Email ----
  EmailFrom:
    Type: String
    # Default: a comment
  Architecture:
    Type: String
    Default: arm64
    AllowedValues: [arm64, x86_64]
  JwtIssuer:
    Default: ''

Rules:
  Other:
    Default: 1
";

    fn values(pairs: &[(&str, &str)]) -> Values {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn the_parameters_of_a_template_are_read_with_their_defaults() {
        let found = declared(TEMPLATE);
        let shown: Vec<_> = found.iter().map(|found| (found.name.as_str(), found.default.as_deref())).collect();
        assert_eq!(shown, [("EmailFrom", None), ("Architecture", Some("arm64")), ("JwtIssuer", Some(""))]);
    }

    #[test]
    fn the_kits_template_needs_one_value_alone() {
        let found = declared(include_str!("../../../infra/template.yaml"));
        let needed: Vec<_> = found.iter().filter(|found| found.default.is_none()).map(|found| found.name.as_str()).collect();
        assert_eq!(needed, ["EmailFrom"]);
        assert!(found.len() > 100, "{}", found.len());
    }

    #[test]
    fn what_is_given_wins_what_the_stack_has_stays_and_the_rest_is_the_templates() {
        let stack_has = BTreeSet::from(["EmailFrom".to_owned(), "JwtIssuer".to_owned(), "Gone".to_owned()]);
        let chosen = chosen(&declared(TEMPLATE), &values(&[("JwtIssuer", "https://i")]), &stack_has).unwrap();
        let shown: Vec<_> = chosen
            .iter()
            .map(|chosen| (chosen.parameter_key().unwrap(), chosen.parameter_value(), chosen.use_previous_value()))
            .collect();
        assert_eq!(shown, [("EmailFrom", None, Some(true)), ("JwtIssuer", Some("https://i"), None)]);
    }

    #[test]
    fn a_value_that_is_missing_at_the_first_deployment_is_named_with_an_example() {
        let error = chosen(&declared(TEMPLATE), &Values::new(), &BTreeSet::new()).unwrap_err().to_string();
        assert!(error.contains("`EmailFrom`") && error.contains("`--parameter EmailFrom=mail@example.com`"), "{error}");
    }

    #[test]
    fn a_parameter_that_no_template_has_is_refused_with_what_may_have_been_meant() {
        let templates = declared(TEMPLATE);
        assert!(known(&values(&[("JwtIssuer", "x")]), &[&templates]).is_ok());
        let error = known(&values(&[("emailfrom", "x")]), &[&[], &templates]).unwrap_err().to_string();
        assert!(error.contains("no parameter `emailfrom` (did you mean `EmailFrom`?)"), "{error}");
        let error = known(&values(&[("X", "x")]), &[&templates]).unwrap_err().to_string();
        assert!(error.contains("`X`; docs/deploy.md"), "{error}");
    }

    #[test]
    fn pairs_and_files_are_read_and_what_is_neither_is_refused() {
        assert_eq!(pair("CallerPolicy=[\"a=b\"]").unwrap(), ("CallerPolicy".to_owned(), "[\"a=b\"]".to_owned()));
        for wrong in ["EmailFrom", "=x", ""] {
            assert!(pair(wrong).is_err(), "{wrong}");
        }
        let path = std::env::temp_dir().join(format!("ikkai-parameters-{}.json", std::process::id()));
        std::fs::write(&path, r#"{"EmailBatchSize": 5, "EmailFrom": "a@b.c", "X": true}"#).unwrap();
        assert_eq!(file(&path).unwrap(), values(&[("EmailBatchSize", "5"), ("EmailFrom", "a@b.c"), ("X", "true")]));
        for wrong in [r#"{"CallerPolicy": []}"#, "[]", "EmailFrom: x"] {
            std::fs::write(&path, wrong).unwrap();
            let error = file(&path).unwrap_err().to_string();
            assert!(error.contains("JSON object of texts") && error.contains("\"EmailFrom\""), "{error}");
        }
        std::fs::remove_file(path).unwrap();
    }
}
