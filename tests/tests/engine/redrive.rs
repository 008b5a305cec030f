//! Jobs that died, mended and put back by an operator.

use ikkai::idempotency::Status;
use ikkai_cli::local::proxy::Rule;
use serde_json::{Value, json};

use crate::operator::{verdicts, with_operator};

#[test]
fn dead_mails_are_found_by_their_reason_tried_with_one_and_put_back() {
    with_operator(async |operator| {
        let lab = operator.lab;
        let user = lab.key("newcomer");
        let mut jobs = Vec::new();
        for _ in 0..3 {
            jobs.push(operator.dead_mail("mended", &user).await);
        }

        let listed = operator.done(&json!({"action": "list", "queue": "email", "messages": true})).await;
        let groups = listed["groups"].as_array().expect("groups");
        let group = groups.iter().find(|group| group["errorCode"] == "unknown_user").expect("a group of unknown users");
        assert!(group["count"].as_u64() >= Some(3) && group["verdict"] == "redriven", "{group}");
        let messages = listed["messages"].as_array().expect("messages");
        for job_id in &jobs {
            let message = messages.iter().find(|message| message["jobIds"] == json!([job_id.as_str()]));
            let message = message.unwrap_or_else(|| panic!("{job_id} is not listed in {listed}"));
            assert_eq!((&message["queue"], &message["source"]), (&json!("email"), &json!(lab.stack.email_queue())));
        }
        assert!(!listed.to_string().contains(&user), "nothing of a body is shown");
        let inspected = operator.done(&json!({"action": "inspect", "jobId": jobs[0].as_str()})).await;
        assert_eq!((&inspected["record"]["status"], &inspected["verdict"]), (&json!("dead"), &json!("redriven")), "{inspected}");
        assert!(inspected["message"]["messageId"].is_string(), "{inspected}");

        operator.add_contact(&user).await;
        let mut request = operator.redrive(&[&jobs[0], &jobs[1], &jobs[2]]);
        request["dryRun"] = json!(true);
        let tried = operator.run(&request).await;
        for job_id in &jobs {
            assert_eq!(verdicts(&tried, job_id), ["redriven"], "{tried}");
            let record = lab.record(job_id).await.expect("a record");
            assert_eq!((record.status, record.generation), (Status::Dead, 0), "nothing was done");
            assert_eq!(operator.dead_letters_with(job_id.as_str()).await, 1);
        }

        request["dryRun"] = json!(false);
        request["canary"] = json!(1);
        let run = operator.run(&request).await;
        assert_eq!((&run["state"], &run["tally"]["redriven"]), (&json!("finished"), &json!(3)), "{run}");
        for job_id in &jobs {
            let record = lab.succeeded(job_id).await;
            assert_eq!(record.generation, 1);
            assert_eq!(lab.aws.proxy().effects_of(job_id.as_str()), 1);
            assert_eq!(operator.dead_letters_with(job_id.as_str()).await, 0);
            assert_eq!(verdicts(&run, job_id), ["redriven"], "{run}");
        }

        let history = operator.done(&json!({"action": "history", "queue": "email"})).await;
        let runs = history["runs"].as_array().expect("runs");
        let known = runs.iter().find(|known| known["runId"] == run["runId"]).expect("the run is in the history");
        assert_eq!((&known["claimedBy"], &known["reason"]), (&json!("ida"), &json!("the contact was added")));
        assert_eq!(known["tally"]["redriven"], 3, "{known}");
        let told = operator.done(&json!({"action": "history", "runId": run["runId"]})).await;
        for job_id in &jobs {
            assert_eq!(verdicts(&told, job_id), ["redriven"], "{told}");
        }
        let status = operator.done(&json!({"action": "status", "queue": "email"})).await;
        assert_eq!(status["queues"][0]["lastRun"]["runId"], run["runId"], "{status}");
    });
}

#[test]
fn a_first_one_that_fails_again_keeps_the_others_back() {
    with_operator(async |operator| {
        let lab = operator.lab;
        let user = lab.key("still-unknown");
        let jobs = [operator.dead_mail("canary", &user).await, operator.dead_mail("canary", &user).await];
        let mut request = operator.redrive(&[&jobs[0], &jobs[1]]);
        request["canary"] = json!(1);
        let run = operator.run(&request).await;
        assert_eq!((&run["state"], &run["stopped"]), (&json!("stopped"), &json!("canary_failed")), "{run}");
        assert_eq!((&run["ok"], &run["tally"]["redriven"]), (&json!(false), &json!(1)), "{run}");
        let mut generations = Vec::new();
        for job_id in &jobs {
            lab.dead_letter_with(job_id.as_str()).await;
            generations.push(lab.record(job_id).await.expect("a record").generation);
        }
        generations.sort_unstable();
        assert_eq!(generations, [0, 1], "one was tried, the other one was not touched");
    });
}

#[test]
fn what_was_put_back_too_often_is_kept_in_quarantine_and_counted() {
    with_operator(async |operator| {
        let lab = operator.lab;
        let user = lab.key("hopeless");
        let job_id = operator.dead_mail("quarantine", &user).await;
        let request = operator.redrive(&[&job_id]);
        for round in 1..=2 {
            assert_eq!(verdicts(&operator.run(&request).await, &job_id), ["redriven"]);
            lab.record_when(&job_id, |record| record.status == Status::Dead && record.generation == round).await;
            lab.dead_letter_with(job_id.as_str()).await;
        }
        let run = operator.run(&request).await;
        assert_eq!(verdicts(&run, &job_id), ["quarantined"], "{run}");
        assert_eq!(operator.dead_letters_with(job_id.as_str()).await, 1, "it is kept");
        let watched = [
            r#""RedriveQuarantined":1"#.to_owned(),
            r#""JobType":"email.send""#.to_owned(),
            format!(r#""Service":"{}""#, lab.stack.redrive()),
        ];
        lab.eventually("the metric that the alarm watches, with its dimensions", async || {
            let log = std::fs::read_to_string(lab.aws.log()).expect("a log");
            let mut lines = log.lines().filter(|line| line.contains("CloudWatchMetrics"));
            lines.any(|line| watched.iter().all(|part| line.contains(part.as_str()))).then_some(())
        })
        .await;

        operator.add_contact(&user).await;
        let mut overridden = request.clone();
        overridden["overrideQuarantine"] = json!(true);
        assert_eq!(verdicts(&operator.run(&overridden).await, &job_id), ["redriven"]);
        assert_eq!(lab.succeeded(&job_id).await.generation, 3);
        assert_eq!(lab.aws.proxy().effects_of(job_id.as_str()), 1);
    });
}

#[test]
fn a_job_that_has_succeeded_meanwhile_is_not_run_again() {
    with_operator(async |operator| {
        let lab = operator.lab;
        let key = lab.key("meanwhile");
        let job_id = lab.post(&key, &lab.mail_to("user-1", &key)).await;
        let record = lab.succeeded(&job_id).await;
        lab.let_go(lab.stack.email_queue(), job_id.as_str()).await;
        let body = json!({
            "jobId": job_id.as_str(), "type": "email.send", "schemaVersion": 1,
            "idempotencyKey": record.idempotency_key, "payload": record.payload,
        });
        lab.send_to(lab.stack.email_dead_letter_queue(), &body.to_string()).await;
        let run = operator.run(&operator.redrive(&[&job_id])).await;
        assert_eq!(verdicts(&run, &job_id), ["already_done"], "{run}");
        assert_eq!(operator.dead_letters_with(job_id.as_str()).await, 0);
        assert_eq!(lab.record(&job_id).await, Some(record), "the record is untouched");
        assert_eq!(lab.aws.proxy().effects_of(job_id.as_str()), 1);
    });
}

#[test]
fn a_doubt_is_resolved_by_a_person_one_way_or_the_other() {
    with_operator(async |operator| {
        let lab = operator.lab;
        for (way, effects) in [("done", 1), ("runAgain", 2)] {
            let key = lab.key(way);
            let job_id = lab.job_id_of(&key);
            lab.aws.proxy().add(Rule::on("ses.SendEmail").job(job_id.as_str()).times(1).forward_then_drop());
            lab.post(&key, &lab.mail_to("user-1", &key)).await;
            lab.dead_letter_with(job_id.as_str()).await;
            let request = operator.redrive(&[&job_id]);
            assert_eq!(verdicts(&operator.run(&request).await, &job_id), ["in_doubt"]);
            assert_eq!(operator.dead_letters_with(job_id.as_str()).await, 1, "it is left");

            let mut resolve = json!({"action": "resolve", "jobId": job_id.as_str(), "as": way, "reason": "looked at SES"});
            resolve["generation"] = json!(1);
            let stale = operator.ask(&resolve).await;
            assert_eq!((&stale["ok"], &stale["error"]["code"]), (&json!(false), &json!("stale_generation")), "{stale}");
            resolve["generation"] = json!(0);
            let resolved = operator.done(&resolve).await;
            let status = if way == "done" { "succeeded" } else { "dead" };
            assert_eq!(resolved["record"]["status"], status, "{resolved}");
            let again = operator.done(&resolve).await;
            assert_eq!(
                again["record"]["updatedAt"], resolved["record"]["updatedAt"],
                "a repeated request changes nothing: {again}"
            );
            if way == "done" {
                let other = json!({"action": "resolve", "jobId": job_id.as_str(), "as": "runAgain", "reason": "looked again"});
                let refused = operator.ask(&other).await;
                assert_eq!((&refused["ok"], &refused["error"]["code"]), (&json!(false), &json!("wrong_state")), "{refused}");
            }
            let verdict = if way == "done" { "already_done" } else { "redriven" };
            assert_eq!(verdicts(&operator.run(&request).await, &job_id), [verdict]);
            lab.succeeded(&job_id).await;
            lab.let_go(lab.stack.email_dead_letter_queue(), job_id.as_str()).await;
            assert_eq!(lab.aws.proxy().effects_of(job_id.as_str()), effects, "{way}");
        }
    });
}

#[test]
fn what_is_discarded_is_archived_first_and_its_job_is_cancelled() {
    with_operator(async |operator| {
        let lab = operator.lab;
        let job_id = operator.dead_mail("discarded", &lab.key("gone")).await;
        let queue = lab.stack.email_dead_letter_queue();
        let filter = json!({"jobIds": [job_id.as_str()]});
        let by_short_name = json!({"action": "discard", "deadLetterQueue": "email", "filter": filter, "reason": "spam"});
        let refused = operator.ask(&by_short_name).await;
        assert_eq!((&refused["ok"], &refused["error"]["code"]), (&json!(false), &json!("unknown_queue")), "{refused}");
        assert_eq!(operator.dead_letters_with(job_id.as_str()).await, 1);

        let request = json!({"action": "discard", "deadLetterQueue": queue, "filter": filter, "reason": "spam"});
        let run = operator.run(&request).await;
        assert_eq!(verdicts(&run, &job_id), ["discarded"], "{run}");
        assert_eq!(operator.dead_letters_with(job_id.as_str()).await, 0);
        assert_eq!(lab.record(&job_id).await.expect("a record").status, Status::Cancelled);
        let bucket = lab.bucket("ArchiveBucketName");
        let keys = bucket.keys(&format!("discarded/{queue}/")).await.expect("the bucket answers");
        let key = keys.iter().find(|key| key.contains(run["runId"].as_str().expect("a run id"))).expect("the archived message");
        let archived = bucket.get(key).await.expect("the bucket answers").expect("an object");
        let archived: Value = serde_json::from_slice(&archived.bytes).expect("JSON");
        assert!(archived.to_string().contains(job_id.as_str()), "{archived}");
    });
}

#[test]
fn a_request_that_cannot_be_understood_says_what_is_wrong_and_does_nothing() {
    with_operator(async |operator| {
        let misspelt = json!({"action": "redrive", "queue": "email", "reson": "the contact was added"});
        let refused = operator.ask(&misspelt).await;
        let error = &refused["error"];
        assert_eq!((&refused["ok"], &refused["action"]), (&json!(false), &json!("redrive")), "{refused}");
        assert_eq!(error["code"], "invalid_request", "{refused}");
        let unknown = error["errors"].as_array().expect("errors").iter().find(|error| error["pointer"] == "/reson");
        let unknown = unknown.unwrap_or_else(|| panic!("{refused}"));
        assert!(unknown["message"].as_str().expect("a message").contains("reason"), "{unknown}");
        for request in [
            json!({"action": "redrive", "queue": "emails", "reason": "x"}),
            json!({"action": "redrive", "queue": "email"}),
            json!({"action": "redrive", "queue": "email", "reason": "x", "max": 0}),
            json!({"action": "redrive", "queue": "email", "reason": "x", "patch": {"userId": "user-1"}}),
            json!({"action": "purge", "queue": "email", "reason": "x"}),
            json!({"queue": "email"}),
            json!([]),
            json!(null),
        ] {
            let refused = operator.ask(&request).await;
            assert_eq!(refused["ok"], false, "{request}: {refused}");
            assert!(refused["error"]["message"].as_str().is_some_and(|message| message.len() > 10), "{request}: {refused}");
        }
    });
}
