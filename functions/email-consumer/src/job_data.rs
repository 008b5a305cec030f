//! The private inputs of an `email.send` job: values for its template that must not travel in a queue.
//!
//! The producer keeps them in the job's record, and they are removed when the job has succeeded:
//!
//! ```json
//! {"variables": {"order_number": "1001", "total": "12.50 EUR"}}
//! ```
//!
//! They win over the contact's own variables of the same name. All are strings: how a number or a date is written depends on the
//! reader's language, which the sender knows and a template does not.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::member_path::member_path;

/// Reads the variables of a job's `data`. Anything but the form above is an error and not ignored: a misspelled member would
/// otherwise be a mail without its content.
pub(crate) fn variables(data: Option<&Value>) -> Result<BTreeMap<String, String>, JobDataError> {
    let members = match data {
        None | Some(Value::Null) => return Ok(BTreeMap::new()),
        Some(Value::Object(members)) => members,
        Some(_) => return Err(JobDataError::NotAnObject { path: "data".to_owned() }),
    };
    if let Some(unknown) = members.keys().find(|name| *name != "variables") {
        return Err(JobDataError::Unknown { path: member_path("data", unknown) });
    }
    match members.get("variables") {
        None | Some(Value::Null) => Ok(BTreeMap::new()),
        Some(Value::Object(variables)) => variables.iter().map(|(name, value)| variable(name, value)).collect(),
        Some(_) => Err(JobDataError::NotAnObject { path: "data.variables".to_owned() }),
    }
}

fn variable(name: &str, value: &Value) -> Result<(String, String), JobDataError> {
    let value = value.as_str().ok_or_else(|| JobDataError::NotAString { path: member_path("data.variables", name) })?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Why a job's private inputs cannot be used. Permanent; names the member, never its value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum JobDataError {
    /// Neither an object nor left out.
    #[error("the job's {path} is not an object: post the job again with an object")]
    NotAnObject { path: String },
    /// A member that this consumer does not know.
    #[error("the job's {path} is not known to this consumer, which reads data.variables alone")]
    Unknown { path: String },
    /// A variable that is null, a number or nested.
    #[error("the job's {path} is not a string: post the job again with the text to be shown")]
    NotAString { path: String },
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn variables_are_an_object_of_strings_or_left_out() {
        for nothing in
            [None, Some(json!(null)), Some(json!({})), Some(json!({"variables": null})), Some(json!({"variables": {}}))]
        {
            assert_eq!(variables(nothing.as_ref()), Ok(BTreeMap::new()));
        }
        let some = variables(Some(&json!({"variables": {"total": "12.50", "note": ""}}))).unwrap();
        assert_eq!(some, BTreeMap::from([("note".to_owned(), String::new()), ("total".to_owned(), "12.50".to_owned())]));
    }

    #[test]
    fn another_shape_is_an_error_that_names_the_member_and_not_its_value() {
        for (data, path) in [
            (json!("jane"), "data "),
            (json!(["jane"]), "data "),
            (json!({"variables": ["jane"]}), "data.variables "),
            (json!({"variables": "jane"}), "data.variables "),
            (json!({"variables": {"total": 12.5}}), "data.variables.total "),
            (json!({"variables": {"total": null}}), "data.variables.total "),
            (json!({"variables": {"total": {"jane": "jane"}}}), "data.variables.total "),
            (json!({"variables": {"jane@example.com": 1}}), "data.variables "),
            (json!({"variables": {}, "template": "jane"}), "data.template "),
            (json!({"jane@example.com": "jane"}), "data "),
        ] {
            let error = variables(Some(&data)).unwrap_err();
            assert!(error.to_string().contains(&format!("job's {path}")), "{error}");
            assert!(!format!("{error} {error:?}").contains("jane"), "{error}");
        }
    }
}
