//! A job that nothing helps, and what is left of it.

use ikkai::idempotency::Status;
use serde_json::json;

use super::{Cast, MAX_REDRIVES, Story, count};
use crate::demo::findings::{Findings, Missed};

type Told = Result<(String, ()), Missed>;

impl Story<'_> {
    /// It is put back as often as it may be, then it stays where it is.
    pub(super) async fn quarantined(&self, cast: &Cast, findings: &mut Findings) -> Told {
        let job_id = &cast.nobody;
        for round in 1..=MAX_REDRIVES {
            let answer = self.redriven(job_id, "perhaps this time").await?;
            findings.equal("put back", count(&answer["tally"]["redriven"]), 1);
            let died_again = |record: &ikkai::idempotency::JobRecord| record.status == Status::Dead && record.generation == round;
            self.scene.when(job_id, "it dies again", died_again).await?;
            let back = async || (self.dead_letters().await.ok()? == 1).then_some(());
            self.scene.stage.eventually("its message is in the dead-letter queue again", back).await?;
        }
        let answer = self.redriven(job_id, "once more").await?;
        findings.equal("quarantined", count(&answer["tally"]["byVerdict"]["quarantined"]), 1);
        findings.equal("put back", count(&answer["tally"]["redriven"]), 0);
        findings.equal("messages in the dead-letter queue", self.dead_letters().await?, 1);
        Ok((format!("died again {MAX_REDRIVES} times; kept, reported, not moved in circles"), ()))
    }

    /// What is given up is archived with its record, then removed.
    pub(super) async fn discarded(&self, cast: &Cast, findings: &mut Findings) -> Told {
        let job_id = &cast.nobody;
        let request = json!({
            "action": "discard", "deadLetterQueue": self.scene.stack.email_dead_letter_queue(), "runId": "demo-discard",
            "filter": {"jobIds": [job_id.as_str()]}, "reason": "nobody of that name", "claimedBy": "demo",
        });
        let answer = self.desk.ask(&request).await?.to_json();
        findings.equal("discarded", count(&answer["tally"]["byVerdict"]["discarded"]), 1);
        findings.equal("messages in the dead-letter queue", self.dead_letters().await?, 0);
        findings.equal("status", self.record(job_id).await?.status, Status::Cancelled);
        findings.equal("mails", self.mails(job_id), 0);
        Ok((format!("archived under {}; the DLQ is empty", answer["archive"].as_str().unwrap_or("?")), ()))
    }

    /// Who did what, when and why.
    pub(super) async fn history(&self, findings: &mut Findings) -> Told {
        let answer = self.desk.ask(&json!({"action": "history", "queue": "email", "max": 100})).await?.to_json();
        let runs = answer["runs"].as_array().cloned().unwrap_or_default();
        let of_demo = runs.iter().filter(|run| run["claimedBy"] == "demo").count();
        findings.at_least("runs in the history", of_demo, 10);
        let run = self.desk.ask(&json!({"action": "history", "runId": "demo-newcomers"})).await?.to_json();
        let verdicts = run["verdicts"].as_array().cloned().unwrap_or_default();
        let redriven = verdicts.iter().filter(|verdict| verdict["verdict"] == "redriven").count();
        findings.equal("verdicts of the run that put the newcomers back", redriven, 3);
        let reason = run["runs"][0]["reason"].as_str().unwrap_or("?").to_owned();
        findings.equal("its reason", reason, "contacts were missing and are there now".to_owned());
        Ok((format!("{of_demo} runs with who, when, why and a verdict a message"), ()))
    }
}
