//! What others take for delivering a job.

use super::prices::{
    CLOUD_TASKS_OPERATION, CLOUDFLARE_OPERATION, QSTASH_MESSAGE, STATE_TRANSITION, TEMPORAL_ACTION, TEMPORAL_PLAN_SHARE,
};
use super::table::{dollars, markdown, units};

/// Dollars a million jobs, of the service alone.
pub(super) fn table() -> String {
    let rows = [
        ("Google Cloud Tasks", 2.0, CLOUD_TASKS_OPERATION.dollars, "create, deliver by HTTP", "no record of the effect"),
        ("Cloudflare Queues", 3.0, CLOUDFLARE_OPERATION.dollars, "write, read, delete", "no record of the effect"),
        ("Upstash QStash", 1.0, QSTASH_MESSAGE.dollars, "a message, delivered by HTTP", "no record of the effect"),
        (
            "Step Functions, standard",
            1.0,
            STATE_TRANSITION.dollars,
            "one state, at least",
            "keeps the execution's history; no backlog of its own",
        ),
        (
            "Temporal Cloud, Developer plan",
            2.0,
            TEMPORAL_ACTION.dollars * (1.0 + TEMPORAL_PLAN_SHARE),
            "start of a workflow, of an activity; 10 % for the plan",
            "keeps the workflow's history; storage is extra; workers are yours",
        ),
    ];
    let rows = rows.map(|(name, actions, each, what, keeps)| {
        [name.to_owned(), dollars(actions * each * 1e6), format!("{} ({what})", units(actions)), keeps.to_owned()]
    });
    markdown(["a million jobs that succeed at once", "$", "units a job", "what it keeps"], rows)
}
