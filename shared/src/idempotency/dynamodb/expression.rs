//! Update and condition expressions, built attribute by attribute.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

use super::super::event::{Claim, Takeover};
use super::super::record::{JobRecord, Status};
use super::super::store::Guard;
use super::super::transition::NOT_DUE_TOLERANCE;
use super::codec::{attributes, millis, number, text};
use crate::clock::EpochMillis;

/// The expressions of one `UpdateItem` request. Every attribute goes by a `#name` of its own: several of ours are reserved words
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ReservedWords.html>).
#[derive(Debug, Default)]
pub(crate) struct Update {
    sets: Vec<String>,
    removes: Vec<String>,
    pub(crate) condition: String,
    pub(crate) names: HashMap<String, String>,
    pub(crate) values: HashMap<String, AttributeValue>,
}

impl Update {
    /// What is to be changed; nothing where everything is so already, since DynamoDB takes no empty expression.
    pub(crate) fn expression(&self) -> Option<String> {
        let mut clauses = Vec::new();
        if !self.sets.is_empty() {
            clauses.push(format!("SET {}", self.sets.join(", ")));
        }
        if !self.removes.is_empty() {
            clauses.push(format!("REMOVE {}", self.removes.join(", ")));
        }
        (!clauses.is_empty()).then(|| clauses.join(" "))
    }

    fn name(&mut self, attribute: &str) -> String {
        let name = format!("#{attribute}");
        self.names.entry(name.clone()).or_insert_with(|| attribute.to_owned());
        name
    }

    fn value(&mut self, name: &str, value: AttributeValue) -> String {
        let name = format!(":{name}");
        self.values.insert(name.clone(), value);
        name
    }

    fn set(&mut self, attribute: &str, value: AttributeValue) {
        let (name, value) = (self.name(attribute), self.value(attribute, value));
        self.sets.push(format!("{name} = {value}"));
    }

    fn set_if_absent(&mut self, attribute: &str, value: AttributeValue) {
        let (name, value) = (self.name(attribute), self.value(attribute, value));
        self.sets.push(format!("{name} = if_not_exists({name}, {value})"));
    }

    fn equals(&mut self, attribute: &str, value_name: &str, value: AttributeValue) -> String {
        let (name, value) = (self.name(attribute), self.value(value_name, value));
        format!("{name} = {value}")
    }

    fn remove(&mut self, attribute: &str) {
        let name = self.name(attribute);
        self.removes.push(name);
    }
}

/// The ordinary claim.
///
/// ```text
///  no record ──────────────────────────────┐            (unless the type needs one with data)
///  accepted, due, same payload, left ──────┼─ claim ──▶ running, attempts + 1, my token, my lease
///  retry_scheduled, due, same, left ───────┘            (each without a crash, unless it is its turn)
///  anything else: refused with ALL_OLD, and `transition` decides
/// ```
pub(crate) fn claim(claim: &Claim, now: EpochMillis) -> Update {
    let mut update = Update::default();
    update.set("status", text(Status::Running.as_str()));
    update.set("lease_token", text(&claim.token));
    update.set("lease_until", millis(claim.lease_until));
    update.set("updated_at", millis(now));
    let (attempts, one, zero) = (update.name("attempts"), update.value("one", number(1)), update.value("zero", number(0)));
    update.sets.push(format!("{attempts} = if_not_exists({attempts}, {zero}) + {one}"));
    for counter in ["generation", "crashes"] {
        let name = update.name(counter);
        update.sets.push(format!("{name} = if_not_exists({name}, {zero})"));
    }
    let (created, written) = (update.name("created_at"), ":updated_at");
    update.sets.push(format!("{created} = if_not_exists({created}, {written})"));
    update.set_if_absent("type", text(claim.job_type.as_str()));
    update.set_if_absent("caller", text(&claim.caller));
    update.set_if_absent("idempotency_key", text(&claim.idempotency_key));
    update.set_if_absent("payload", super::codec::json(&claim.payload));
    update.set_if_absent("payload_digest", text(&claim.payload_digest));
    let (version, known) = (update.name("schema_version"), update.value("schema_version", number(claim.schema_version)));
    update.sets.push(format!("{version} = if_not_exists({version}, {known})"));
    if let Some(business_id) = &claim.business_id {
        update.set_if_absent("business_id", text(business_id));
    }
    if claim.rules.effect.notes_first_effect() {
        let name = update.name("first_effect_at");
        update.sets.push(format!("{name} = if_not_exists({name}, {written})"));
    }
    for gone in ["effect_begun", "accept_token", "send_lease_until", "enqueued_at", "retry_at", "schema_held_since"] {
        update.remove(gone);
    }

    let (status, digest) = (update.name("status"), update.name("payload_digest"));
    let (accepted, waiting) = (
        update.value("accepted", text(Status::Accepted.as_str())),
        update.value("waiting", text(Status::RetryScheduled.as_str())),
    );
    let max = update.value("max_attempts", number(claim.rules.max_attempts));
    let due = update.value("due", millis(now + NOT_DUE_TOLERANCE));
    let retry_at = update.name("retry_at");
    let mut waits = format!(
        "({status} = {accepted} OR {status} = {waiting}) AND (attribute_not_exists({retry_at}) OR {retry_at} <= {due}) \
         AND {attempts} < {max} AND (attribute_not_exists({digest}) OR {digest} = :payload_digest)"
    );
    if claim.takeover == Takeover::Postpone {
        let crashes = update.name("crashes");
        waits = format!("{waits} AND (attribute_not_exists({crashes}) OR {crashes} = {zero})");
    }
    if let Some(start) = claim.rules.effect.window_start(now) {
        let (first, start) = (update.name("first_effect_at"), update.value("window_start", millis(start)));
        waits = format!("{waits} AND (attribute_not_exists({first}) OR {first} >= {start})");
    }
    update.condition = if claim.rules.needs_data {
        let (payload, data) = (update.name("payload"), update.name("data"));
        format!("attribute_exists({payload}) AND attribute_exists({data}) AND {waits}")
    } else {
        let key = update.name("job_id");
        format!("attribute_not_exists({key}) OR ({waits})")
    };
    update
}

/// What differs between `stored` and `next`, under `guard`.
pub(super) fn replace(stored: Option<&JobRecord>, next: &JobRecord, guard: &Guard) -> Update {
    let mut update = Update::default();
    let before: HashMap<_, _> = stored.map(attributes).unwrap_or_default().into_iter().collect();
    let after = attributes(next);
    for (name, value) in &after {
        if *name != "job_id" && before.get(name) != Some(value) {
            update.set(name, value.clone());
        }
    }
    for name in before.keys() {
        if !after.iter().any(|(kept, _)| kept == name) {
            update.remove(name);
        }
    }
    update.condition = condition(&mut update, stored, guard);
    update
}

fn condition(update: &mut Update, stored: Option<&JobRecord>, guard: &Guard) -> String {
    match (guard, stored) {
        (Guard::Absent, _) | (Guard::Unchanged, None) => {
            let key = update.name("job_id");
            format!("attribute_not_exists({key})")
        }
        (Guard::Lease(mine), _) => {
            let running = update.equals("status", "was_status", text(Status::Running.as_str()));
            let owned = update.equals("lease_token", "mine", text(mine));
            format!("{owned} AND {running}")
        }
        (Guard::Sending(mine), _) => {
            let accepted = update.equals("status", "was_status", text(Status::Accepted.as_str()));
            let owned = update.equals("accept_token", "mine", text(mine));
            format!("{owned} AND {accepted}")
        }
        (Guard::Unchanged, Some(stored)) => {
            let [run, sending] =
                [("lease_token", &stored.lease_token), ("accept_token", &stored.accept_token)].map(|(name, owner)| match owner {
                    Some(owner) => update.equals(name, &format!("was_{name}"), text(owner)),
                    None => format!("attribute_not_exists({})", update.name(name)),
                });
            [
                update.equals("status", "was_status", text(stored.status.as_str())),
                update.equals("generation", "was_generation", number(stored.generation)),
                update.equals("attempts", "was_attempts", number(stored.attempts)),
                update.equals("updated_at", "was_updated_at", millis(stored.updated_at)),
                run,
                sending,
            ]
            .join(" AND ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{JobId, JobType};

    #[test]
    fn a_change_that_changes_nothing_has_no_expression_and_keeps_its_condition() {
        let job_type = JobType::parse("email.send").unwrap();
        let job_id = JobId::parse_stored("email.send-aaaqeayeaudaocajbifqydiob4").unwrap();
        let now = EpochMillis::from_i64(1_800_000_000_000);
        let record = JobRecord::new(job_id, job_type, 1, "caller", Status::Running, now);
        let same = replace(Some(&record), &record, &Guard::Lease("mine".into()));
        assert_eq!(same.expression(), None);
        assert_eq!(same.condition, "#lease_token = :mine AND #status = :was_status");
        let next = JobRecord { attempts: 1, ..record.clone() };
        assert_eq!(replace(Some(&record), &next, &Guard::Unchanged).expression().unwrap(), "SET #attempts = :attempts");
    }
}
