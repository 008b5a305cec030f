//! Jobs of which nobody knows whether they were done. Somebody looks, and says so.

use ikkai::idempotency::Status;
use ikkai::job::JobId;
use serde_json::{Value, json};

use super::{Cast, Story, count};
use crate::demo::findings::{Findings, Missed};

type Told = Result<(String, ()), Missed>;

impl Story<'_> {
    /// The mail is in the mailbox: the job is done, and its message has nothing left to do.
    pub(super) async fn resolved_as_done(&self, cast: &Cast, findings: &mut Findings) -> Told {
        let job_id = &cast.mailed_unheard;
        let refused = self.redriven(job_id, "too early").await?;
        findings.equal("before that it is left", count(&refused["tally"]["byVerdict"]["in_doubt"]), 1);
        self.resolve(job_id, &json!({"as": "done", "reason": "the mail is in the mailbox"})).await?;
        let record = self.record(job_id).await?;
        findings.equal("status", record.status, Status::Succeeded);
        let answer = self.redriven(job_id, "clear up").await?;
        findings.equal("already done", count(&answer["tally"]["byVerdict"]["already_done"]), 1);
        findings.equal("mails", self.mails(job_id), 1);
        Ok(("one mail before, one after; its message is gone".into(), ()))
    }

    /// The provider never saw it: it runs again, once.
    pub(super) async fn resolved_to_run_again(&self, cast: &Cast, findings: &mut Findings) -> Told {
        let job_id = &cast.never_mailed;
        self.resolve(job_id, &json!({"as": "runAgain", "reason": "the provider never saw it"})).await?;
        findings.equal("status", self.record(job_id).await?.status, Status::Dead);
        let answer = self.redriven(job_id, "it was never sent").await?;
        findings.equal("put back", count(&answer["tally"]["redriven"]), 1);
        self.scene.succeeded(job_id).await?;
        findings.equal("mails", self.mails(job_id), 1);
        Ok(("put back and mailed, once".into(), ()))
    }

    async fn resolve(&self, job_id: &JobId, how: &Value) -> Result<(), Missed> {
        let mut request = json!({"action": "resolve", "jobId": job_id.as_str(), "claimedBy": "demo"});
        for member in ["as", "reason"] {
            request[member] = how[member].clone();
        }
        self.desk.ask(&request).await.map(drop)
    }

    /// Puts one job back.
    pub(super) async fn redriven(&self, job_id: &JobId, reason: &str) -> Result<Value, Missed> {
        let filter = json!({"jobIds": [job_id.as_str()]});
        let request = json!({"action": "redrive", "queue": "email", "filter": filter, "reason": reason, "claimedBy": "demo"});
        Ok(self.desk.ask(&request).await?.to_json())
    }
}
