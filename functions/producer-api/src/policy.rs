//! Which caller may post which job types for which accounts, and with which payloads.

mod pattern;
mod rule;

use std::fmt;

use ikkai::config::Reader;
use serde_json::Value;

use self::rule::Rule;
use crate::caller::Caller;

const SETTING: &str = "IKKAI_CALLER_POLICY";

/// Rules out of `IKKAI_CALLER_POLICY`; what no rule permits is refused.
///
/// ```json
/// [{"callers": ["arn:aws:sts::123456789012:assumed-role/order-service", "jwt:https://id.example#*"],
///   "types": ["billing.charge"], "accounts": ["*"], "payload": {"customerId": ["cus_a*"]},
///   "callbackUrl": "https://orders.example.com/ikkai"}]
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    rules: Vec<Rule>,
}

/// A job that somebody wants to post.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) job_type: &'a str,
    pub(crate) account_id: Option<&'a str>,
    pub(crate) payload: &'a Value,
}

/// What may not be posted, for the refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Denied<'a> {
    /// The job type, for this account, whatever its payload.
    Job,
    /// This value of a member of the payload.
    Member(&'a str),
}

impl fmt::Display for Denied<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Job => f.write_str("this job type for this account"),
            Self::Member(name) => write!(f, "this job type with this value of /payload/{name}"),
        }
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

    /// The first rule that lets `caller` post such a job.
    ///
    /// # Errors
    /// When there is none: the member of the payload that is in the way, where a rule permits everything else.
    pub(crate) fn ask(&self, caller: &Caller, asked: Asked<'_>) -> Result<&Rule, Denied<'_>> {
        let mut denied = Denied::Job;
        for rule in &self.rules {
            match rule.permits(caller, asked) {
                Ok(()) => return Ok(rule),
                Err(member @ Denied::Member(_)) if denied == Denied::Job => denied = member,
                Err(_) => {}
            }
        }
        Err(denied)
    }

    /// Whether a rule names a default callback.
    pub(crate) fn names_callback(&self) -> bool {
        self.rules.iter().any(|rule| rule.callback_url.is_some())
    }
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

    fn permits(policy: &Policy, caller: &Caller, job_type: &str, account_id: Option<&str>) -> bool {
        policy.ask(caller, Asked { job_type, account_id, payload: &json!({}) }).is_ok()
    }

    fn policy(document: &Value) -> Policy {
        let mut problems = Vec::new();
        let policy = Policy::parse(document, &mut problems);
        assert_eq!(problems, Vec::<String>::new());
        policy
    }

    #[test]
    fn what_no_rule_permits_is_refused() {
        assert!(!permits(&policy(&json!([])), &caller("ann"), "email.send", None));
        let policy = policy(&json!([{"callers": ["arn:aws:iam::123456789012:user/ann"], "types": ["email.send"]}]));
        assert!(permits(&policy, &caller("ann"), "email.send", None));
        assert!(!permits(&policy, &caller("anna"), "email.send", None));
        assert!(!permits(&policy, &caller("ann"), "image.resize", None));
        assert!(!permits(&policy, &caller("ann"), "email.send", Some("acme")));
    }

    #[test]
    fn a_star_at_the_end_stands_for_any_rest() {
        let policy = policy(&json!([{"callers": ["arn:aws:iam::123456789012:user/a*"], "types": ["*"], "accounts": ["eu-*"]}]));
        assert!(permits(&policy, &caller("anna"), "email.send", Some("eu-1")));
        assert!(!permits(&policy, &caller("bob"), "email.send", Some("eu-1")));
        assert!(!permits(&policy, &caller("anna"), "email.send", Some("us-1")));
    }

    #[test]
    fn a_rule_that_lists_accounts_is_not_for_jobs_without_one() {
        let listed = policy(&json!([{"callers": ["*"], "types": ["*"], "accounts": ["acme"]}]));
        assert!(!permits(&listed, &caller("ann"), "email.send", None));
        let any = policy(&json!([{"callers": ["*"], "types": ["*"], "accounts": ["*"]}]));
        assert!(permits(&any, &caller("ann"), "email.send", None) && permits(&any, &caller("ann"), "email.send", Some("acme")));
    }

    #[test]
    fn rules_do_not_mix() {
        let policy = policy(&json!([
            {"callers": ["arn:aws:iam::123456789012:user/ann"], "types": ["email.send"], "accounts": ["a"]},
            {"callers": ["arn:aws:iam::123456789012:user/bob"], "types": ["email.send"], "accounts": ["b"]}
        ]));
        assert!(!permits(&policy, &caller("ann"), "email.send", Some("b")));
    }

    /// Who may charge whom.
    #[test]
    fn a_member_of_the_payload_may_be_held_to_values() {
        let policy = policy(&json!([
            {"callers": ["arn:aws:iam::123456789012:user/ann"], "types": ["billing.charge"], "payload": {"customerId": ["cus_a*", "cus_7"]}},
            {"callers": ["arn:aws:iam::123456789012:user/bob"], "types": ["billing.charge"]},
        ]));
        let ask = |name: &str, payload: &Value| {
            let (caller, asked) = (caller(name), Asked { job_type: "billing.charge", account_id: None, payload });
            policy.ask(&caller, asked).map(drop)
        };
        for mine in ["cus_a1", "cus_a", "cus_7"] {
            assert_eq!(ask("ann", &json!({"customerId": mine})), Ok(()), "{mine}");
        }
        let other = json!({"customerId": "cus_b"});
        for payload in
            [&other, &json!({"customerId": "cus_77"}), &json!({}), &json!({"customerId": ["cus_7"]}), &json!({"customerId": 7})]
        {
            assert_eq!(ask("ann", payload), Err(Denied::Member("customerId")), "{payload}");
        }
        assert_eq!(ask("bob", &other), Ok(()));
        assert_eq!(ask("eve", &other), Err(Denied::Job), "who may not post the type learns no member");
    }

    #[test]
    fn the_first_rule_that_permits_names_the_callback() {
        let policy = policy(&json!([
            {"callers": ["*"], "types": ["billing.charge"], "callbackUrl": "https://billing.example/"},
            {"callers": ["*"], "types": ["*"], "callbackUrl": "https://shop.example/hook"},
            {"callers": ["*"], "types": ["*"]},
        ]));
        let (caller, asked) = (caller("ann"), Asked { job_type: "email.send", account_id: None, payload: &json!({}) });
        let rule = policy.ask(&caller, asked).unwrap();
        assert_eq!(rule.callback_url.as_ref().unwrap().as_str(), "https://shop.example/hook");
        assert!(policy.names_callback());
    }

    #[test]
    fn every_mistake_is_reported_at_once_with_its_place() {
        let text = json!([7, {"caller": ["x"], "types": ["email.sent"], "accounts": []}, {"callers": ["a*b", ""], "types": "email.send"},
            {"callers": ["*"], "types": ["webhook.deliver"], "callbackUrl": "http://shop.example/"},
            {"callers": ["*"], "types": ["email.send"], "payload": {"customerId": ["*"]}, "callbackUrl": 7},
            {"callers": ["*"], "types": ["*"], "payload": {"customerId": []}}, {"callers": ["*"], "types": ["*"], "payload": {}}]);
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
            "/3/types/0: is no job type",
            "/3/callbackUrl: must begin with https",
            "/4/payload: `customerId` is no member",
            "/4/callbackUrl: must be a text",
            "/5/payload/customerId: must be a list",
            "/6/payload: must be an object",
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
