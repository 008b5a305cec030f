//! What becomes of one `report.generate` job.

use std::{sync::Arc, time::Duration};

use ikkai::{
    consumer::{Done, Failure, Handler, JobContext},
    idempotency::EffectPolicy,
    job::{Job, ReportGenerate},
};
use serde_json::json;

use crate::{
    checkpoint,
    checksum::sha256_hex,
    draft::{Draft, Reading, Upload},
    history::{HistoryError, JobHistory},
    page,
    report::Report,
    settings::ReportSettings,
    store::{Object, ObjectKind, ReportStore, ReportStoreError},
    timetable::Timetable,
};

/// How long to leave a table or a bucket alone that refuses this function: an operator has to act first.
const NOT_READY_DELAY: Duration = Duration::from_secs(15 * 60);

/// Writes the report of a `report.generate` job: reads the account's jobs page by page, and publishes a CSV and a page with charts.
///
/// What was read is kept as a draft whenever a part of the CSV was uploaded, and before the invocation's time is over; the next run takes the draft up.
/// Writing the same files again is harmless, so a crash costs what was read since the last draft and nothing else.
pub struct ReportHandler {
    history: Arc<dyn JobHistory>,
    store: Arc<dyn ReportStore>,
    prefix: String,
}

/// Why a run stopped before its report was published.
enum Stop {
    /// The run is over.
    Ended(Failure),
    /// The function may not use its table or its bucket.
    NotReady { code: &'static str, message: String },
    /// The upload is gone with all that is in it.
    UploadGone,
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Ended(failure)
    }
}

/// A mistake in the stack and an outage are no fault of the job and use no attempt. A request without an answer in time does: a function that is
/// too small for its parts must not try for ever.
impl From<ReportStoreError> for Stop {
    fn from(error: ReportStoreError) -> Self {
        let (code, message) = (error.code(), error.to_string());
        match error {
            ReportStoreError::UploadGone => Self::UploadGone,
            ReportStoreError::Throttled | ReportStoreError::Outage { .. } => Self::Ended(Failure::defer(code, message, None)),
            ReportStoreError::Refused { .. } => Self::NotReady { code, message },
            ReportStoreError::Unavailable { .. } => Self::Ended(Failure::retry(code, message)),
        }
    }
}

impl From<HistoryError> for Stop {
    fn from(error: HistoryError) -> Self {
        let (code, message) = (error.code(), error.to_string());
        match error {
            HistoryError::Throttled | HistoryError::Outage { .. } => Self::Ended(Failure::defer(code, message, None)),
            HistoryError::Refused { .. } => Self::NotReady { code, message },
            HistoryError::Unavailable { .. } => Self::Ended(Failure::retry(code, message)),
        }
    }
}

impl Stop {
    /// What the job becomes.
    fn failure(self, job: &Job<ReportGenerate>) -> Failure {
        match self {
            Self::Ended(failure) => failure,
            Self::NotReady { code, message } => {
                // Its jobs only wait, which is no error to the kit; but nothing is written until somebody acts.
                tracing::error!(job_id = job.id.as_str(), error_code = code, error = message, "table or bucket not ready");
                Failure::defer(code, message, Some(NOT_READY_DELAY))
            }
            Self::UploadGone => Failure::retry(ReportStoreError::UploadGone.code(), ReportStoreError::UploadGone.to_string()),
        }
    }
}

impl ReportHandler {
    /// A handler for these parts; of the settings it keeps the prefix of the reports' keys.
    #[must_use]
    pub fn new(history: Arc<dyn JobHistory>, store: Arc<dyn ReportStore>, settings: &ReportSettings) -> Self {
        Self { history, store, prefix: settings.prefix.clone() }
    }
}

impl Handler for ReportHandler {
    type Payload = ReportGenerate;

    fn effect_policy(&self) -> EffectPolicy {
        EffectPolicy::RERUN
    }

    async fn handle(&self, job: &Job<ReportGenerate>, context: &JobContext) -> Result<Done, Failure> {
        let report = Report::new(&job.id, &job.payload, context.created_at(), &self.prefix);
        let mut run = Run { handler: self, report: &report, context, kept: None, upload: None };
        let mut timetable = Timetable::new(context.remaining());
        let draft = run.take_up().await.map_err(|stop| stop.failure(job))?;
        match run.write(draft, &mut timetable).await {
            // Once: what removes uploads again and again is not the passing of time.
            Err(Stop::UploadGone) => {
                let anew = run.begin_anew().await;
                run.write(anew, &mut timetable).await.map_err(|stop| stop.failure(job))
            }
            written => written.map_err(|stop| stop.failure(job)),
        }
    }
}

/// One run of a report's job.
struct Run<'a> {
    handler: &'a ReportHandler,
    report: &'a Report,
    context: &'a JobContext,
    /// Digest of the draft that the job's progress names.
    kept: Option<String>,
    /// The upload that this run works on.
    upload: Option<String>,
}

impl Run<'_> {
    /// The draft that an earlier run put down, or a new one where there is none that can be used.
    async fn take_up(&mut self) -> Result<Draft, Stop> {
        let anew = Draft::new(&self.report.scope.period);
        let Some(digest) = self.context.progress().and_then(checkpoint::named_in) else { return Ok(anew) };
        let body = self.handler.store.get(&self.report.draft_key(digest)).await?;
        match body.and_then(|body| checkpoint::decode(&body, digest, &self.report.scope.period)) {
            Some(draft) => {
                self.kept = Some(digest.to_owned());
                self.upload = draft.upload.as_ref().map(|upload| upload.name.clone());
                Ok(draft)
            }
            None => {
                tracing::warn!(job_id = self.report.job_id.as_str(), "report draft not found");
                Ok(anew)
            }
        }
    }

    /// A new draft in the place of one whose upload is gone: its parts are nowhere else. What may be left of the upload goes as well; where that
    /// fails, the bucket's lifecycle rule does it.
    async fn begin_anew(&mut self) -> Draft {
        if let Some(upload) = self.upload.take()
            && let Err(error) = self.handler.store.abort_upload(&self.report.csv_key, &upload).await
        {
            tracing::debug!(error = %error, "report upload not given up");
        }
        Draft::new(&self.report.scope.period)
    }

    async fn write(&mut self, mut draft: Draft, timetable: &mut Timetable) -> Result<Done, Stop> {
        let period = &self.report.scope.period;
        loop {
            if timetable.is_over(self.context.remaining()) {
                return Err(self.put_down(&draft, timetable).await?.into());
            }
            if draft.reading == Reading::Done {
                return self.publish(draft).await;
            }
            timetable.begin();
            let page = self.handler.history.page(&self.report.scope, draft.position());
            match tokio::time::timeout(timetable.longest_page(self.context.remaining()), page).await {
                Ok(Ok(page)) => draft.add(page, period),
                Err(_) => return Err(self.put_down(&draft, timetable).await?.into()),
                Ok(Err(error)) => {
                    // The next run shall not have to read again what this one did, least of all from a table that throttles.
                    if timetable.pages() > 0 {
                        self.keep(&draft).await?;
                    }
                    return Err(error.into());
                }
            }
            if draft.pending.len() >= self.handler.store.least_part_bytes() {
                self.upload(&mut draft).await?;
                self.keep(&draft).await?;
            }
            timetable.end();
        }
    }

    /// The time is over. A run that had none from the start uses no attempt. One that had time and got nowhere keeps nothing new, which makes
    /// it a failed attempt: the next one would get nowhere either.
    async fn put_down(&mut self, draft: &Draft, timetable: &Timetable) -> Result<Failure, Stop> {
        if timetable.began_late() {
            return Ok(Failure::no_time());
        }
        if timetable.pages() > 0 {
            self.keep(draft).await?;
        }
        Ok(Failure::unfinished())
    }

    /// Uploads the pending bytes as a part.
    async fn upload(&mut self, draft: &mut Draft) -> Result<(), Stop> {
        let (store, key) = (&self.handler.store, &self.report.csv_key);
        if draft.upload.is_none() {
            let name = store.begin_upload(key, &self.csv_kind()).await?;
            self.upload = Some(name.clone());
            draft.upload = Some(Upload { name, parts: Vec::new() });
        }
        let pending = std::mem::take(&mut draft.pending);
        if let Some(upload) = &mut draft.upload {
            let part = store.upload_part(key, &upload.name, upload.next_number(), pending).await?;
            upload.parts.push(part);
        }
        Ok(())
    }

    /// Keeps the draft: first the draft, then the job's progress that names it, then nobody needs the former one.
    async fn keep(&mut self, draft: &Draft) -> Result<(), Stop> {
        let body = checkpoint::encode(draft);
        let digest = sha256_hex(&body);
        if self.kept.as_ref() == Some(&digest) {
            return Ok(());
        }
        self.handler.store.put(Object { key: self.report.draft_key(&digest), kind: ObjectKind::Draft, body }).await?;
        self.context.save_progress(checkpoint::progress(&digest)).await?;
        let former = self.kept.replace(digest);
        self.remove(former).await;
        Ok(())
    }

    /// Removes a draft that nothing names any more. What is left is removed by the bucket's lifecycle rule.
    async fn remove(&self, digest: Option<String>) {
        let Some(digest) = digest else { return };
        if let Err(error) = self.handler.store.delete(&self.report.draft_key(&digest)).await {
            tracing::debug!(error = %error, "report draft not removed");
        }
    }

    /// Both files, the CSV first: a page that is there has its table beside it.
    async fn publish(&mut self, mut draft: Draft) -> Result<Done, Stop> {
        let (store, report) = (&self.handler.store, self.report);
        if draft.upload.is_some() {
            if !draft.pending.is_empty() {
                self.upload(&mut draft).await?;
            }
        } else {
            let body = std::mem::take(&mut draft.pending);
            store.put(Object { key: report.csv_key.clone(), kind: self.csv_kind(), body }).await?;
        }
        if let Some(upload) = &draft.upload {
            store.complete_upload(&report.csv_key, &upload.name, &upload.parts).await?;
        }
        let html = page::render(report, &draft);
        let html_bytes = html.len();
        let html_sha256 = sha256_hex(html.as_bytes());
        store.put(Object { key: report.html_key.clone(), kind: ObjectKind::Html, body: html.into_bytes() }).await?;
        let kept = self.kept.take();
        self.remove(kept).await;
        Ok(Done::with_result(json!({
            "period": report.scope.period.as_str(),
            "asOf": report.scope.as_of.rfc3339().to_string(),
            "jobs": draft.summary.jobs,
            "byStatus": draft.summary.by_status(),
            "csv": {"key": report.csv_key, "bytes": draft.bytes, "sha256": draft.checksum.hex()},
            "html": {"key": report.html_key, "bytes": html_bytes, "sha256": html_sha256},
        })))
    }

    fn csv_kind(&self) -> ObjectKind {
        ObjectKind::Csv(self.report.csv_name().to_owned())
    }
}
