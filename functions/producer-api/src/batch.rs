//! Many jobs in one request: one verdict a job.

use std::collections::HashMap;
use std::sync::Arc;

use ikkai::job::JobId;
use ikkai::queue::MAX_ENTRIES;
use serde_json::{Value, json};

use crate::accept::Acceptor;
use crate::accepted::Answer;
use crate::catalog::Served;
use crate::prepared::Prepared;
use crate::problem::{Code, Problem};
use crate::response::{Response, SERVER_ERROR};

/// Most jobs of a batch request.
pub const MAX_BATCH_JOBS: usize = 100;

/// Jobs of a batch that are recorded at the same time, and then sent with one call. The function opens so many connections to DynamoDB while it
/// starts: more at once would make the first batch wait for handshakes, on a fraction of a processor.
pub(crate) const WRITES_AT_ONCE: usize = MAX_ENTRIES;

/// Jobs of one queue that are sent with one call, each with its place in the batch.
struct Group {
    served: Arc<Served>,
    places: Vec<usize>,
    jobs: Vec<Prepared>,
}

/// Takes the jobs that could be prepared. One answer a job, in order.
pub(crate) async fn accept_all(acceptor: &Acceptor, jobs: Vec<Result<Prepared, Problem>>) -> Vec<Answer> {
    let mut answers: Vec<Option<Answer>> = jobs.iter().map(|_| None).collect();
    let mut twins: Vec<(usize, usize)> = Vec::new();
    let mut first_places: HashMap<JobId, usize> = HashMap::new();
    let mut distinct: Vec<(usize, Prepared)> = Vec::new();
    for (place, job) in jobs.into_iter().enumerate() {
        match job {
            Err(problem) => answers[place] = Some(Err(problem)),
            Ok(job) => match first_places.get(job.job_id()) {
                None => {
                    first_places.insert(job.job_id().clone(), place);
                    distinct.push((place, job));
                }
                Some(first) => {
                    let original = distinct.iter().find(|(place, _)| place == first);
                    if original.is_some_and(|(_, original)| job.is_same_request(&original.record)) {
                        twins.push((place, *first));
                    } else {
                        answers[place] = Some(Err(used_twice(*first)));
                    }
                }
            },
        }
    }
    for group in groups(distinct) {
        let accepted = acceptor.accept_together(&group.served, group.jobs).await;
        for (place, answer) in group.places.into_iter().zip(accepted) {
            answers[place] = Some(answer);
        }
    }
    for (place, first) in twins {
        answers[place] = answers[first].clone();
    }
    answers
        .into_iter()
        .map(|answer| answer.unwrap_or_else(|| Err(Problem::new(Code::QueueUnavailable, "repeat this job"))))
        .collect()
}

/// The multi-status answer.
pub(crate) fn response(answers: &[Answer]) -> Response {
    let entries: Vec<Value> = answers
        .iter()
        .map(|answer| match answer {
            Ok(accepted) => {
                json!({"status": accepted.http_status(), "job": accepted.to_json(), "replayed": accepted.is_replayed()})
            }
            Err(problem) => json!({"status": problem.code.status(), "problem": problem.to_json()}),
        })
        .collect();
    let mut response = Response::json(207, &json!({"jobs": entries}));
    response.notes.jobs = Some(answers.len());
    response.notes.jobs_accepted = Some(answers.iter().filter(|answer| answer.is_ok()).count());
    let failed = |answer: &&Answer| answer.as_ref().is_err_and(|problem| problem.code.status() >= SERVER_ERROR);
    response.notes.jobs_failed = answers.iter().filter(failed).count();
    response
}

fn used_twice(first: usize) -> Problem {
    let detail = format!(
        "job {first} of this batch has the same key and another payload, data, account, runAt or callbackUrl; use a new key for a new job"
    );
    Problem::new(Code::IdempotencyKeyReused, detail)
}

/// Jobs by queue, ten at a time.
fn groups(jobs: Vec<(usize, Prepared)>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (place, job) in jobs {
        let open = groups.iter_mut().find(|group| Arc::ptr_eq(&group.served, &job.served) && group.jobs.len() < WRITES_AT_ONCE);
        match open {
            Some(group) => {
                group.places.push(place);
                group.jobs.push(job);
            }
            None => groups.push(Group { served: job.served.clone(), places: vec![place], jobs: vec![job] }),
        }
    }
    groups
}
