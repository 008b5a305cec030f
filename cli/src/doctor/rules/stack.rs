//! Rules about the stack as a whole.

use super::source::LAMBDA_ASYNC;
use crate::doctor::facts::{Fact, Facts, Gap};
use crate::doctor::finding::{Judged, Rule};
use crate::doctor::time::time;

/// What these rules are asked about.
const OPERATORS: &str = "operators' function";

const DEPLOYED: Rule = Rule {
    name: "redrive-function",
    why: "whoever invokes it needs no permission on queues and tables; without it operators work with their own",
    source: "docs/runbook.md",
};

const RETRIES: Rule = Rule {
    name: "redrive-retries",
    why: "Lambda repeats an asynchronous invocation that failed twice: a redrive that nobody asked for again",
    source: LAMBDA_ASYNC,
};

const STUCK: Rule = Rule {
    name: "stuck-jobs",
    why: "a job whose message is gone (purged, expired) is found by nobody else",
    source: "docs/design.md",
};

const PERMISSIONS: Rule = Rule {
    name: "permissions",
    why: "a function that lacks a permission fails at the first job that needs it",
    source: "docs/deploy.md",
};

/// The operators' function is there.
pub(super) fn redrive_function(facts: &Facts) -> Judged {
    match &facts.redrive.function_name {
        Fact::Unknown(Gap::Missing) => DEPLOYED.warning(
            OPERATORS,
            "not deployed",
            "deploy the present template; until then the commands run with your own permissions",
        ),
        fact => DEPLOYED.ok(OPERATORS, DEPLOYED.known(OPERATORS, fact)?),
    }
}

/// It is not run again by itself.
pub(super) fn redrive_retries(facts: &Facts) -> Judged {
    match RETRIES.known(OPERATORS, &facts.redrive.retries)? {
        0 => RETRIES.ok(OPERATORS, "0"),
        retries => {
            let mend =
                "`aws lambda put-function-event-invoke-config --maximum-retry-attempts 0 --function-name …`; the template does";
            RETRIES.error(OPERATORS, format!("up to {retries}"), mend)
        }
    }
}

/// Every job goes on.
pub(super) fn stuck_jobs(facts: &Facts) -> Judged {
    let subject = "jobs";
    let stuck = STUCK.known(subject, &facts.stuck)?;
    let since = time(stuck.after_seconds);
    if stuck.job_ids.is_empty() {
        return STUCK.ok(subject, format!("none that has not moved for {since}"));
    }
    let some = stuck.job_ids.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
    let found = format!("{} have not moved for {since}, such as {some}", stuck.job_ids.len());
    STUCK.warning(
        subject,
        found,
        "`ikkai dlq show JOB_ID` says where each stands; a lost message is made again by `ikkai dlq redrive --job-id`",
    )
}

/// The roles suffice, as IAM simulates them.
pub(super) fn permissions(facts: &Facts) -> Judged {
    let subject = "roles";
    let refusals: Vec<_> = facts.permissions.iter().filter_map(|part| part.refusals.known()).flatten().collect();
    if !refusals.is_empty() {
        let said =
            refusals.iter().take(3).map(|refusal| format!("{} may not {} on {}", refusal.role, refusal.action, refusal.resource));
        let found = format!("{} not allowed: {}", refusals.len(), said.collect::<Vec<_>>().join("; "));
        return PERMISSIONS.error(subject, found, "deploy the template again: its roles allow it");
    }
    for part in &facts.permissions {
        PERMISSIONS.known(&part.function_name, &part.refusals)?;
    }
    if facts.permissions.is_empty() {
        let gap =
            Gap::NotAsked { reason: "the stack names no functions".to_owned(), mend: "deploy the present template".to_owned() };
        return Err(PERMISSIONS.unknown(subject, &gap));
    }
    PERMISSIONS.ok(subject, "allow what each function does with queues, tables, buckets, secrets and mails")
}
