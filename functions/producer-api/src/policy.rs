//! Which caller may post which job types for which accounts.

use ikkai::config::Reader;
use ikkai::job;
use serde_json::{Map, Value};

use crate::caller::Caller;

const SETTING: &str = "IKKAI_CALLER_POLICY";
const MEMBERS: [&str; 3] = ["callers", "types", "accounts"];

/// Rules out of `IKKAI_CALLER_POLICY`; what no rule permits is refused.
///
/// ```json
/// [{"callers": ["arn:aws:sts::123456789012:assumed-role/order-service", "jwt:https://id.example#*"],
///   "types": ["email.send"], "accounts": ["*"]}]
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    rules: Vec<Rule>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    callers: Vec<Pattern>,
    types: Vec<Pattern>,
    accounts: Vec<Pattern>,
}

/// A text that is compared in full, or the beginning of one.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Pattern {
    Exact(String),
    Prefix(String),
}

impl Pattern {
    fn matches(&self, text: &str) -> bool {
        match self {
            Self::Exact(exact) => exact == text,
            Self::Prefix(prefix) => text.starts_with(prefix.as_str()),
        }
    }

    fn is_anything(&self) -> bool {
        matches!(self, Self::Prefix(prefix) if prefix.is_empty())
    }
}

impl Policy {
    /// Reads the setting; every problem is noted with its place.
    pub fn read(reader: &mut Reader) -> Self {
        let Some(document) = reader.required_json::<Value>(SETTING) else { return Self::default() };
        let mut problems = Vec::new();
        let policy = Self::parse(&document, &mut problems);
        for problem in problems {
            reader.problem(SETTING, problem);
        }
        policy
    }

    fn parse(document: &Value, problems: &mut Vec<String>) -> Self {
        let Some(rules) = document.as_array() else {
            problems
                .push(r#"must be a list of rules like [{"callers":["…"],"types":["email.send"],"accounts":["*"]}]"#.to_owned());
            return Self::default();
        };
        let mut parsed = Vec::new();
        for (index, rule) in rules.iter().enumerate() {
            match rule.as_object() {
                Some(members) => parsed.push(Rule::parse(members, index, problems)),
                None => problems.push(format!("/{index}: must be an object with callers, types and accounts")),
            }
        }
        Self { rules: parsed }
    }

    /// Whether a rule lets `caller` post a job of this type for this account, or for none.
    pub(crate) fn permits(&self, caller: &Caller, job_type: &str, account_id: Option<&str>) -> bool {
        self.rules.iter().any(|rule| {
            matches(&rule.callers, caller.as_str()) && matches(&rule.types, job_type) && rule.permits_account(account_id)
        })
    }
}

impl Rule {
    fn parse(members: &Map<String, Value>, index: usize, problems: &mut Vec<String>) -> Self {
        for name in members.keys().filter(|name| !MEMBERS.contains(&name.as_str())) {
            let shown: String = name.chars().take(32).collect();
            problems.push(format!("/{index}: unknown member `{shown}`; a rule has callers, types and accounts"));
        }
        let mut list = |name: &'static str| patterns(members.get(name), &format!("/{index}/{name}"), problems);
        let (callers, types) = (list("callers"), list("types"));
        let accounts = if members.contains_key("accounts") { list("accounts") } else { Vec::new() };
        for (position, pattern) in types.iter().enumerate() {
            let known = match pattern {
                Pattern::Exact(name) => job::find(name).is_some(),
                Pattern::Prefix(prefix) => prefix.is_empty(),
            };
            if !known {
                let names: Vec<&str> = job::names().collect();
                problems.push(format!("/{index}/types/{position}: is no job type; write `*` or one of: {}", names.join(", ")));
            }
        }
        Self { callers, types, accounts }
    }

    /// A rule that lists accounts asks for one of them; one without accounts is for jobs that name none.
    fn permits_account(&self, account_id: Option<&str>) -> bool {
        match account_id {
            Some(account_id) => matches(&self.accounts, account_id),
            None => self.accounts.is_empty() || self.accounts.iter().any(Pattern::is_anything),
        }
    }
}

fn matches(patterns: &[Pattern], text: &str) -> bool {
    patterns.iter().any(|pattern| pattern.matches(text))
}

fn patterns(list: Option<&Value>, at: &str, problems: &mut Vec<String>) -> Vec<Pattern> {
    let Some(entries) = list.and_then(Value::as_array).filter(|entries| !entries.is_empty()) else {
        problems.push(format!("{at}: must be a list with at least one text"));
        return Vec::new();
    };
    let mut parsed = Vec::new();
    for (position, entry) in entries.iter().enumerate() {
        match entry.as_str().map(str::trim).filter(|text| !text.is_empty()) {
            None => problems.push(format!("{at}/{position}: must be a text that is not empty")),
            Some(text) => match text.split_once('*') {
                None => parsed.push(Pattern::Exact(text.to_owned())),
                Some((prefix, "")) => parsed.push(Pattern::Prefix(prefix.to_owned())),
                Some(_) => problems.push(format!("{at}/{position}: a `*` can stand at the end only")),
            },
        }
    }
    parsed
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::event::Identity;

    fn caller(name: &str) -> Caller {
        let arn = format!("arn:aws:iam::123456789012:user/{name}");
        Caller::identify(&Identity { user_arn: Some(arn), ..Identity::default() }, "sub").unwrap()
    }

    fn policy(document: &Value) -> Policy {
        let mut problems = Vec::new();
        let policy = Policy::parse(document, &mut problems);
        assert_eq!(problems, Vec::<String>::new());
        policy
    }

    #[test]
    fn what_no_rule_permits_is_refused() {
        assert!(!policy(&json!([])).permits(&caller("ann"), "email.send", None));
        let policy = policy(&json!([{"callers": ["arn:aws:iam::123456789012:user/ann"], "types": ["email.send"]}]));
        assert!(policy.permits(&caller("ann"), "email.send", None));
        assert!(!policy.permits(&caller("anna"), "email.send", None));
        assert!(!policy.permits(&caller("ann"), "image.resize", None));
        assert!(!policy.permits(&caller("ann"), "email.send", Some("acme")));
    }

    #[test]
    fn a_star_at_the_end_stands_for_any_rest() {
        let policy = policy(&json!([{"callers": ["arn:aws:iam::123456789012:user/a*"], "types": ["*"], "accounts": ["eu-*"]}]));
        assert!(policy.permits(&caller("anna"), "email.send", Some("eu-1")));
        assert!(!policy.permits(&caller("bob"), "email.send", Some("eu-1")));
        assert!(!policy.permits(&caller("anna"), "email.send", Some("us-1")));
    }

    #[test]
    fn a_rule_that_lists_accounts_is_not_for_jobs_without_one() {
        let listed = policy(&json!([{"callers": ["*"], "types": ["*"], "accounts": ["acme"]}]));
        assert!(!listed.permits(&caller("ann"), "email.send", None));
        let any = policy(&json!([{"callers": ["*"], "types": ["*"], "accounts": ["*"]}]));
        assert!(any.permits(&caller("ann"), "email.send", None) && any.permits(&caller("ann"), "email.send", Some("acme")));
    }

    #[test]
    fn rules_do_not_mix() {
        let policy = policy(&json!([
            {"callers": ["arn:aws:iam::123456789012:user/ann"], "types": ["email.send"], "accounts": ["a"]},
            {"callers": ["arn:aws:iam::123456789012:user/bob"], "types": ["email.send"], "accounts": ["b"]}
        ]));
        assert!(!policy.permits(&caller("ann"), "email.send", Some("b")));
    }

    #[test]
    fn every_mistake_is_reported_at_once_with_its_place() {
        let text = json!([7, {"caller": ["x"], "types": ["email.sent"], "accounts": []}, {"callers": ["a*b", ""], "types": "email.send"}]);
        let mut reader = Reader::from_pairs([(SETTING, text.to_string())]);
        Policy::read(&mut reader);
        let problems = reader.finish(()).unwrap_err().to_string();
        for part in [
            "/0: must",
            "/1: unknown member `caller`",
            "/1/callers: must",
            "/1/types/0: is no job type",
            "/1/accounts: must",
            "/2/callers/0: a `*`",
            "/2/callers/1: must",
            "/2/types: must",
        ] {
            assert!(problems.contains(part), "{part} in {problems}");
        }
    }

    #[test]
    fn the_setting_must_be_there() {
        let mut reader = Reader::from_pairs([("OTHER", "x")]);
        Policy::read(&mut reader);
        assert!(reader.finish(()).is_err());
    }
}
