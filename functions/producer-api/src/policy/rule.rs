//! One rule of the caller policy.

use ikkai::callback::CallbackUrl;
use ikkai::job::{self, JobKind};
use serde_json::{Map, Value};

use super::pattern::{Pattern, matches, patterns};
use super::{Asked, Denied};
use crate::caller::Caller;
use crate::settings::{CALLBACK_REACH, posted_types};

const MEMBERS: [&str; 5] = ["callers", "types", "accounts", "payload", "callbackUrl"];

/// Lets some callers post some jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rule {
    callers: Vec<Pattern>,
    types: Vec<Pattern>,
    accounts: Vec<Pattern>,
    /// Members of the payload, each with the values that it may have.
    payload: Vec<(String, Vec<Pattern>)>,
    /// Whom to tell of the end of jobs that name nobody.
    pub(crate) callback_url: Option<CallbackUrl>,
}

impl Rule {
    /// Reads the rule with this index; problems are noted with their place.
    pub(super) fn parse(members: &Map<String, Value>, index: usize, problems: &mut Vec<String>) -> Self {
        for name in members.keys().filter(|name| !MEMBERS.contains(&name.as_str())) {
            let shown: String = name.chars().take(32).collect();
            problems.push(format!("/{index}: unknown member `{shown}`; a rule has {}", MEMBERS.join(", ")));
        }
        let mut list = |name: &'static str| patterns(members.get(name), &format!("/{index}/{name}"), problems);
        let (callers, types) = (list("callers"), list("types"));
        let accounts = if members.contains_key("accounts") { list("accounts") } else { Vec::new() };
        check_types(&types, index, problems);
        let payload = members.get("payload").map(|payload| payload_members(payload, &types, index, problems));
        let callback_url = members.get("callbackUrl").and_then(|url| callback(url, index, problems));
        Self { callers, types, accounts, payload: payload.unwrap_or_default(), callback_url }
    }

    /// Whether this rule lets `caller` post such a job.
    pub(super) fn permits(&self, caller: &Caller, asked: Asked<'_>) -> Result<(), Denied<'_>> {
        let concerned = matches(&self.callers, caller.as_str()) && matches(&self.types, asked.job_type);
        if !concerned || !self.permits_account(asked.account_id) {
            return Err(Denied::Job);
        }
        let allowed = |(member, values): &&(String, Vec<Pattern>)| {
            asked.payload.get(member).and_then(Value::as_str).is_some_and(|value| matches(values, value))
        };
        match self.payload.iter().find(|member| !allowed(member)) {
            Some((member, _)) => Err(Denied::Member(member)),
            None => Ok(()),
        }
    }

    /// A rule that lists accounts asks for one of them; one without accounts is for jobs that name none.
    fn permits_account(&self, account_id: Option<&str>) -> bool {
        match account_id {
            Some(account_id) => matches(&self.accounts, account_id),
            None => self.accounts.is_empty() || self.accounts.iter().any(Pattern::is_anything),
        }
    }
}

fn check_types(types: &[Pattern], index: usize, problems: &mut Vec<String>) {
    for (position, pattern) in types.iter().enumerate() {
        let known = match pattern {
            Pattern::Exact(name) => job::find(name).is_some_and(|kind| kind.from_api),
            Pattern::Prefix(prefix) => prefix.is_empty(),
        };
        if !known {
            let names = posted_types().join(", ");
            problems.push(format!("/{index}/types/{position}: is no job type; write `*` or one of: {names}"));
        }
    }
}

fn payload_members(payload: &Value, types: &[Pattern], index: usize, problems: &mut Vec<String>) -> Vec<(String, Vec<Pattern>)> {
    let at = format!("/{index}/payload");
    let Some(members) = payload.as_object().filter(|members| !members.is_empty()) else {
        problems.push(format!(r#"{at}: must be an object like {{"customerId":["cus_a*"]}}"#));
        return Vec::new();
    };
    let mut read = Vec::new();
    for (name, values) in members {
        // A member that no payload has would make the rule permit nothing.
        let kinds = job::registry().iter().filter(|kind| kind.from_api && matches(types, kind.job_type));
        if !kinds.into_iter().any(|kind| has_member(kind, name)) {
            let shown: String = name.chars().take(32).collect();
            problems.push(format!("{at}: `{shown}` is no member of the payload of these types"));
        }
        read.push((name.clone(), patterns(Some(values), &format!("{at}/{name}"), problems)));
    }
    read
}

fn has_member(kind: &JobKind, name: &str) -> bool {
    (kind.schema)().get("properties").is_some_and(|properties| properties.get(name).is_some())
}

fn callback(url: &Value, index: usize, problems: &mut Vec<String>) -> Option<CallbackUrl> {
    let Some(text) = url.as_str() else {
        problems.push(format!("/{index}/callbackUrl: must be a text"));
        return None;
    };
    let read = CallbackUrl::parse(text.trim(), CALLBACK_REACH);
    read.map_err(|error| problems.push(format!("/{index}/callbackUrl: {error}"))).ok()
}
