//! The names of a new consumer's parts, all made from its own name and the type of its jobs.

use ikkai::job::{JobType, JobTypeError};

/// Longest name, so that the function's name (`<stack>-<name>-consumer`, 64 characters at most) leaves room for the stack's.
const MAX_CHARS: usize = 20;

/// Words that are no names of modules, or that mean something else where consumers are named.
const RESERVED: &[&str] = &[
    "abstract", "all", "alloc", "as", "async", "await", "become", "box", "break", "const", "continue", "core", "crate", "do",
    "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "main",
    "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static", "std", "struct", "super",
    "test", "tests", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// Why a consumer cannot be called so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum NameError {
    #[error(
        "the name `{name}` is not one word of a-z and 0-9 that begins with a letter and has 2 to {MAX_CHARS} characters: write it like `sms`"
    )]
    NotAWord { name: String },
    #[error("the name `{name}` has a meaning of its own in Rust or in this project: take another, such as `{name}s`")]
    Reserved { name: String },
    #[error("the name `{name}` ends in `consumer`, which every consumer's parts do by themselves: leave it out")]
    SaysConsumer { name: String },
    #[error("the job type `{job_type}` is none")]
    JobType { job_type: String, source: JobTypeError },
}

/// The names of a consumer's parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Names {
    /// `sms`: in names of queues, functions, files.
    pub(super) name: String,
    /// `Sms`: in the template, and of types.
    pub(super) prefix: String,
    /// `sms.send`
    pub(super) job_type: String,
    /// `SmsSend`: the payload's type.
    pub(super) payload: String,
    /// `sms_send`: the payload's module.
    pub(super) payload_module: String,
}

impl Names {
    /// The names of the consumer `name`, whose jobs are of the type `job_type`, or `<name>.send` where none is given.
    pub(super) fn new(name: &str, job_type: Option<&str>) -> Result<Self, NameError> {
        let starts_right = name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
        let is_word = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        if !starts_right || !is_word || !(2..=MAX_CHARS).contains(&name.len()) {
            return Err(NameError::NotAWord { name: name.to_owned() });
        }
        if RESERVED.contains(&name) {
            return Err(NameError::Reserved { name: name.to_owned() });
        }
        if name.ends_with("consumer") {
            return Err(NameError::SaysConsumer { name: name.to_owned() });
        }
        let job_type = job_type.map_or_else(|| format!("{name}.send"), str::to_owned);
        if let Err(source) = JobType::parse(&job_type) {
            return Err(NameError::JobType { job_type, source });
        }
        let payload = job_type.split(['.', '_']).map(capitalized).collect();
        let payload_module = job_type.replace('.', "_");
        Ok(Self { name: name.to_owned(), prefix: capitalized(name), job_type, payload, payload_module })
    }

    /// The package, the binary and the folder under `functions/`.
    pub(super) fn package(&self) -> String {
        format!("{}-consumer", self.name)
    }
}

fn capitalized(word: &str) -> String {
    let mut characters = word.chars();
    let first = characters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(characters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_names_follow_from_two() {
        let names = Names::new("sms", None).unwrap();
        assert_eq!(
            (names.prefix.as_str(), names.job_type.as_str(), names.package().as_str()),
            ("Sms", "sms.send", "sms-consumer")
        );
        assert_eq!((names.payload.as_str(), names.payload_module.as_str()), ("SmsSend", "sms_send"));
        let names = Names::new("crm2", Some("crm.contact_sync.v2")).unwrap();
        assert_eq!((names.payload.as_str(), names.payload_module.as_str()), ("CrmContactSyncV2", "crm_contact_sync_v2"));
    }

    #[test]
    fn a_bad_name_is_refused_with_the_reason() {
        for bad in [
            "",
            "s",
            "Sms",
            "2sms",
            "sms-send",
            "sms_send",
            "sms.send",
            "ünicode",
            "an-even-longer-name-than-fits",
            "s ms",
            "../sms",
        ] {
            assert!(matches!(Names::new(bad, None), Err(NameError::NotAWord { .. })), "{bad}");
        }
        for reserved in ["match", "all", "std"] {
            let error = Names::new(reserved, None).unwrap_err();
            assert!(matches!(error, NameError::Reserved { .. }) && error.to_string().contains(reserved), "{error}");
        }
        assert!(matches!(Names::new("smsconsumer", None), Err(NameError::SaysConsumer { .. })));
    }

    #[test]
    fn a_bad_job_type_is_refused_with_the_reason() {
        for bad in ["sms", "sms-send", "Sms.send", ""] {
            assert!(matches!(Names::new("sms", Some(bad)), Err(NameError::JobType { .. })), "{bad}");
        }
    }
}
