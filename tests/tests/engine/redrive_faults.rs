//! Redrives while answers get lost, and while somebody else does the same.

use ikkai::idempotency::Status;
use ikkai_cli::local::proxy::Rule;
use serde_json::{Value, json};
use tokio::join;

use crate::operator::{Operator, verdicts, with_operator};

/// A dead mail that can be made by now.
async fn mended(operator: &Operator<'_>, name: &str) -> ikkai::job::JobId {
    let user = operator.lab.key(name);
    let job_id = operator.dead_mail(name, &user).await;
    operator.add_contact(&user).await;
    job_id
}

/// However it came about: the job ran once, and one more run at most leaves nothing of it in the dead-letter queue.
async fn ran_once(operator: &Operator<'_>, job_id: &ikkai::job::JobId) {
    let lab = operator.lab;
    let record = lab.succeeded(job_id).await;
    assert_eq!(record.generation, 1, "put back once");
    if operator.dead_letters_with(job_id.as_str()).await > 0 {
        // What was sent and not deleted waits until it is visible again.
        lab.eventually("the copy that was left", async || {
            let run = operator.run(&operator.redrive(&[job_id])).await;
            verdicts(&run, job_id).contains(&"already_done".to_owned()).then_some(())
        })
        .await;
    }
    assert_eq!(operator.dead_letters_with(job_id.as_str()).await, 0);
    lab.let_go(lab.stack.email_queue(), job_id.as_str()).await;
    assert_eq!(lab.aws.proxy().effects_of(job_id.as_str()), 1, "one mail");
}

#[test]
fn a_lost_answer_of_a_sending_costs_a_copy_and_no_second_mail() {
    with_operator(async |operator| {
        let job_id = mended(operator, "lost-send").await;
        let lost = Rule::on("sqs.SendMessageBatch").target(operator.lab.stack.email_queue()).times(1).forward_then_drop();
        let lost = operator.lab.aws.proxy().add(lost);
        let run = operator.run(&operator.redrive(&[&job_id])).await;
        assert_eq!((lost.hits(), verdicts(&run, &job_id)), (1, vec!["redriven".to_owned()]), "{run}");
        ran_once(operator, &job_id).await;
    });
}

#[test]
fn a_sending_that_never_happens_leaves_the_message_and_the_next_run_sends_it() {
    with_operator(async |operator| {
        let lab = operator.lab;
        let job_id = mended(operator, "refused-send").await;
        let refused = Rule::on("sqs.SendMessageBatch").target(lab.stack.email_queue());
        let refused = lab.aws.proxy().add(refused.answer(403, "AccessDeniedException", "not allowed"));
        let run = operator.run(&operator.redrive(&[&job_id])).await;
        assert!(refused.hits() >= 1 && run["ok"] == false, "{run}");
        assert_eq!(operator.dead_letters_with(job_id.as_str()).await, 1, "not lost");
        assert_eq!(lab.aws.proxy().effects_of(job_id.as_str()), 0);
        refused.remove();
        let again = operator.run(&operator.redrive(&[&job_id])).await;
        assert_eq!(verdicts(&again, &job_id), ["redriven"], "{again}");
        ran_once(operator, &job_id).await;
    });
}

#[test]
fn lost_answers_of_a_deletion_leave_no_second_mail() {
    with_operator(async |operator| {
        let job_id = mended(operator, "lost-deletion").await;
        let lost = Rule::on("sqs.DeleteMessageBatch").target(operator.lab.stack.email_dead_letter_queue()).times(1);
        let lost = operator.lab.aws.proxy().add(lost.forward_then_drop());
        let run = operator.run(&operator.redrive(&[&job_id])).await;
        assert_eq!(lost.hits(), 1);
        let verdict = verdicts(&run, &job_id);
        assert!(["redriven", "sent_not_deleted"].contains(&verdict[0].as_str()), "{run}");
        ran_once(operator, &job_id).await;
    });
}

#[test]
fn a_lost_answer_of_a_put_back_is_not_taken_for_somebody_elses() {
    with_operator(async |operator| {
        let lab = operator.lab;
        let job_id = mended(operator, "lost-write").await;
        let lost = Rule::on("dynamodb.UpdateItem").target(lab.stack.jobs_table()).job(job_id.as_str()).times(1);
        let lost = lab.aws.proxy().add(lost.forward_then_drop());
        let run = operator.run(&operator.redrive(&[&job_id])).await;
        assert_eq!(lost.hits(), 1);
        assert_eq!(verdicts(&run, &job_id), ["redriven"], "{run}");
        ran_once(operator, &job_id).await;
    });
}

#[test]
fn two_operators_at_once_get_one_run_and_one_refusal() {
    with_operator(async |operator| {
        let lab = operator.lab;
        let job_id = mended(operator, "at-once").await;
        let held = lab.aws.proxy().add(Rule::on("sqs.SendMessageBatch").target(lab.stack.email_queue()).times(1).hold());
        let mut first = operator.redrive(&[&job_id]);
        first["runId"] = json!(lab.key("first"));
        let second = async {
            held.arrived().await;
            let refused = operator.ask(&operator.redrive(&[&job_id])).await;
            held.release();
            refused
        };
        let (run, refused): (Value, Value) = join!(operator.run(&first), second);
        assert_eq!((&refused["ok"], &refused["error"]["code"]), (&json!(false), &json!("run_in_progress")), "{refused}");
        assert!(refused["error"]["retryAfterSeconds"].as_u64() >= Some(1), "{refused}");
        assert_eq!(verdicts(&run, &job_id), ["redriven"], "{run}");
        ran_once(operator, &job_id).await;

        let repeated = operator.done(&first).await;
        assert_eq!((&repeated["replayed"], &repeated["tally"]), (&json!(true), &run["tally"]), "{repeated}");
        let mut other = first.clone();
        other["reason"] = json!("another one");
        let taken = operator.ask(&other).await;
        assert_eq!(taken["error"]["code"], "run_id_taken", "{taken}");
        assert_eq!(lab.record(&job_id).await.expect("a record").status, Status::Succeeded);
        assert_eq!(lab.record(&job_id).await.expect("a record").generation, 1);
    });
}
