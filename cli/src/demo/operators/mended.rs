//! Jobs that fail for a reason that can be mended.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use ikkai::idempotency::Status;
use serde_json::json;

use super::{Cast, MAILED_UNHEARD, NEVER_MAILED, NEWCOMERS, NOBODY, Story, count};
use crate::demo::findings::{Findings, Missed};
use crate::demo::scene::works;
use crate::demo::stage::job_id_of;
use crate::local::proxy::Rule;

type Told<T = ()> = Result<(String, T), Missed>;

impl Story<'_> {
    /// Four mails to users that nobody knows, and two whose provider never answers.
    pub(super) async fn jobs_fail(&self, findings: &mut Findings) -> Told<Cast> {
        let proxy = self.scene.stage.aws.proxy();
        let id_of = |user: &str| job_id_of(&format!("demo:operators:{user}"));
        // The provider takes the one and never sees the other; the consumer cannot tell which is which.
        let taken = proxy.add(Rule::on("ses.SendEmail").job(id_of(MAILED_UNHEARD).as_str()).times(1).forward_then_drop());
        let lost = proxy.add(Rule::on("ses.SendEmail").job(id_of(NEVER_MAILED).as_str()).times(1).drop_connection());
        let mut newcomers = Vec::new();
        for user in NEWCOMERS {
            newcomers.push(self.post(user).await?);
        }
        let cast = Cast {
            newcomers,
            nobody: self.post(NOBODY).await?,
            mailed_unheard: self.post(MAILED_UNHEARD).await?,
            never_mailed: self.post(NEVER_MAILED).await?,
        };
        for job_id in cast.newcomers.iter().chain([&cast.nobody]) {
            self.scene.when(job_id, "it dies", |record| record.status == Status::Dead).await?;
        }
        for job_id in [&cast.mailed_unheard, &cast.never_mailed] {
            self.scene.when(job_id, "it ends in doubt", |record| record.status == Status::InDoubt).await?;
        }
        let all = async || (self.dead_letters().await.ok()? == 6).then_some(());
        self.scene.stage.eventually("six messages reach the dead-letter queue", all).await?;
        findings.equal("answers of the provider that were lost", taken.hits() + lost.hits(), 2);
        findings.equal("mails that it took", (self.mails(&cast.mailed_unheard), self.mails(&cast.never_mailed)), (1, 0));
        Ok(("4 mails to unknown users died, 2 whose answer was lost are in doubt; 6 messages in the DLQ".into(), cast))
    }

    /// The list groups what is there by its reason, and takes nothing away.
    pub(super) async fn listed(&self, findings: &mut Findings) -> Told {
        let answer = self.desk.ask(&json!({"action": "list", "queue": "email"})).await?.to_json();
        let group = |status: &str, code: &str| {
            let groups = answer["groups"].as_array().into_iter().flatten();
            let of = groups.filter(|group| group["status"] == status && (code.is_empty() || group["errorCode"] == code));
            of.map(|group| count(&group["count"])).sum::<u64>()
        };
        findings.equal("messages looked at", count(&answer["seen"]), 6);
        findings.equal("dead of an unknown user", group("dead", "unknown_user"), 4);
        findings.equal("in doubt", group("in_doubt", ""), 2);
        findings.equal("addresses in the answer", answer.to_string().contains('@'), false);
        let visible = async || {
            let counts = self.scene.stack.queue_counts(self.scene.stack.email_dead_letter_queue()).await;
            (counts.ok()?.visible == 6).then_some(())
        };
        self.scene.stage.eventually("all six messages are visible again", visible).await?;
        Ok(("4 × unknown_user (dead), 2 in doubt; nothing was taken away".into(), ()))
    }

    /// A dry run says what would happen, and nothing happens.
    pub(super) async fn dry_run(&self, cast: &Cast, findings: &mut Findings) -> Told {
        let request = json!({
            "action": "redrive", "queue": "email", "filter": {"codes": ["unknown_user"]}, "dryRun": true, "reason": "what would happen?",
        });
        let answer = self.desk.ask(&request).await?.to_json();
        findings.equal("would be put back", count(&answer["tally"]["byVerdict"]["redriven"]), 4);
        findings.equal("messages in the dead-letter queue", self.dead_letters().await?, 6);
        for job_id in &cast.newcomers {
            findings.equal("status of a job", self.record(job_id).await?.status, Status::Dead);
        }
        Ok(("4 would be put back; nothing was".into(), ()))
    }

    /// The cause is mended: the users get their contacts.
    pub(super) async fn contacts_fixed(&self, findings: &mut Findings) -> Told {
        let dynamodb = aws_sdk_dynamodb::Client::new(&self.scene.stage.aws.sdk_config());
        let mut written = 0;
        for user in NEWCOMERS {
            let text = |value: String| AttributeValue::S(value);
            let contact = HashMap::from([
                ("user_id".to_owned(), text(user.to_owned())),
                ("email".to_owned(), text(format!("{user}@example.com"))),
            ]);
            let put = dynamodb.put_item().table_name(self.scene.stack.contacts_table()).set_item(Some(contact)).send().await;
            works("a contact is written", put.map_err(|error| error.to_string()))?;
            written += 1;
        }
        findings.equal("contacts written", written, NEWCOMERS.len());
        Ok(("3 of the 4 users exist now".into(), ()))
    }

    /// One goes first; when it has succeeded, the others follow.
    pub(super) async fn put_back(&self, cast: &Cast, findings: &mut Findings) -> Told {
        let ids: Vec<_> = cast.newcomers.iter().map(ToString::to_string).collect();
        let request = json!({
            "action": "redrive", "queue": "email", "filter": {"jobIds": ids}, "canary": 1, "ratePerSecond": 50,
            "runId": "demo-newcomers", "reason": "contacts were missing and are there now", "claimedBy": "demo",
        });
        let answer = self.desk.ask(&request).await?.to_json();
        findings.equal("the run's end", answer["state"].as_str().unwrap_or("?").to_owned(), "finished".to_owned());
        findings.equal("put back", count(&answer["tally"]["redriven"]), 3);
        for job_id in &cast.newcomers {
            let record = self.scene.succeeded(job_id).await?;
            findings.equal("times it was put back", record.generation, 1);
            findings.equal("mails", self.mails(job_id), 1);
        }
        let again = self.desk.ask(&request).await?.to_json();
        findings.equal("the same run again is answered, not done", again["replayed"].as_bool(), Some(true));
        findings.equal("messages in the dead-letter queue", self.dead_letters().await?, 3);
        Ok(("the canary succeeded, 2 followed; one mail each".into(), ()))
    }

    /// A copy of a message whose job is done by now is in the dead-letter queue: nothing runs again.
    pub(super) async fn succeeded_meanwhile(&self, cast: &Cast, findings: &mut Findings) -> Told {
        let job_id = &cast.newcomers[0];
        let Some(envelope) = self.record(job_id).await?.envelope() else {
            return Err(Missed { what: "the job's message can be made again".into(), found: "no".into() });
        };
        self.send_to_dead_letters(&envelope.to_body()).await?;
        let before = self.dead_letters().await?;
        let request = json!({
            "action": "redrive", "queue": "email", "filter": {"jobIds": [job_id.as_str()]}, "reason": "a copy came late", "claimedBy": "demo",
        });
        let answer = self.desk.ask(&request).await?.to_json();
        findings.equal("already done", count(&answer["tally"]["byVerdict"]["already_done"]), 1);
        findings.equal("put back", count(&answer["tally"]["redriven"]), 0);
        findings.equal("messages in the dead-letter queue", (before, self.dead_letters().await?), (4, 3));
        findings.equal("mails", self.mails(job_id), 1);
        Ok(("a late copy of a done job was deleted; no second mail".into(), ()))
    }

    async fn send_to_dead_letters(&self, body: &str) -> Result<(), Missed> {
        let sqs = aws_sdk_sqs::Client::new(&self.scene.stage.aws.sdk_config());
        let queue = self.scene.stack.email_dead_letter_queue();
        let url = works("the dead-letter queue is there", sqs.get_queue_url().queue_name(queue).send().await)?.queue_url;
        let sent = sqs.send_message().queue_url(url.unwrap_or_default()).message_body(body).send().await;
        works("the dead-letter queue takes a message", sent).map(drop)
    }
}
