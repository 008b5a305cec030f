//! What becomes of one `image.resize` job.

use std::{sync::Arc, time::Duration};

use futures::{StreamExt as _, TryStreamExt as _, stream};
use ikkai::{
    consumer::{Done, Failure, Handler, JobContext, ObjectEvent, ObjectVerdict},
    idempotency::EffectPolicy,
    job::{ImageResize, Job},
};
use serde_json::{Value, json};

use crate::{
    capacity::Taken,
    encode::content_type,
    notification,
    objects::{Download, NewObject, ObjectAddress, ObjectError, Objects},
    picture_error::PictureError,
    places::file_name,
    settings::ImageSettings,
    workshop::{Finished, NotFinished, Order, Patience, Workshop},
};

/// How long to leave a bucket alone that refuses this function: an operator has to act first.
const NOT_READY_DELAY: Duration = Duration::from_secs(15 * 60);
/// Outputs of one job that are written at a time.
const UPLOADS_AT_ONCE: usize = 4;

/// Makes the pictures of an `image.resize` job: reads the original, renders, writes.
///
/// Every output depends on the original's bytes and the settings alone, and is written under a key of its own: a second run writes the same
/// bytes to the same places, so the policy is `rerun`.
pub struct ImageHandler {
    objects: Arc<dyn Objects>,
    settings: ImageSettings,
    workshop: Workshop,
}

impl ImageHandler {
    /// A handler for this bucket.
    #[must_use]
    pub fn new(objects: Arc<dyn Objects>, settings: ImageSettings) -> Self {
        let workshop = Workshop::new(settings.capacity);
        Self { objects, settings, workshop }
    }

    /// The original's bytes, with the room that they take.
    async fn read(&self, job: &Job<ImageResize>, patience: Patience) -> Result<(bytes::Bytes, Taken), Failure> {
        let address = self.settings.places.original(&job.payload.asset_id, job.payload.version_id.clone());
        let (download, room) = self.open(&address, job, patience).await?;
        let bytes = download.read().await.map_err(|error| object_failure(error, job))?;
        Ok((bytes, room))
    }

    /// Opens the original once there is room for it. Where that takes a while it is opened anew: S3 does not keep a connection that nobody
    /// reads from.
    async fn open(
        &self,
        address: &ObjectAddress,
        job: &Job<ImageResize>,
        patience: Patience,
    ) -> Result<(Box<dyn Download>, Taken), Failure> {
        let open = || async { self.objects.open(address).await.map_err(|error| object_failure(error, job)) };
        let originals = self.workshop.originals();
        let download = open().await?;
        let length = download.length();
        if !originals.could_hold(length) {
            let limit = originals.total_bytes();
            let message = format!(
                "the original has {length} bytes, and the function has room for {limit}: give the function more memory or upload a smaller one"
            );
            return Err(Failure::permanent("original_too_large", message));
        }
        if let Some(room) = originals.try_take(length) {
            return Ok((download, room));
        }
        drop(download);
        let room = tokio::time::timeout(patience.waiting, originals.take(length)).await;
        let room = room.ok().flatten().ok_or_else(Failure::no_time)?;
        let download = open().await?;
        if download.length() > length {
            return Err(Failure::retry("original_changed", "the original was replaced while the job waited for memory"));
        }
        Ok((download, room))
    }

    async fn write(&self, job: &Job<ImageResize>, finished: &Finished) -> Result<(), Failure> {
        let prefix = self.settings.places.outputs(&job.payload.asset_id);
        let objects = finished.outputs.iter().map(|output| NewObject {
            bucket: self.settings.places.derived_bucket.clone(),
            key: format!("{prefix}{}", file_name(output.size, output.format)),
            content_type: content_type(output.format),
            cache_control: self.settings.cache_control.clone(),
            bytes: output.bytes.clone(),
        });
        let writes: Vec<_> = objects.map(|object| self.objects.put(object)).collect();
        let writes = stream::iter(writes).buffer_unordered(UPLOADS_AT_ONCE);
        writes.try_collect::<()>().await.map_err(|error| object_failure(error, job))
    }

    fn result(&self, job: &Job<ImageResize>, finished: &Finished) -> Value {
        let outputs = finished.outputs.iter().map(|output| {
            let (name, bytes) = (file_name(output.size, output.format), output.bytes.len());
            json!({"name": name, "bytes": bytes, "width": output.width, "height": output.height})
        });
        let (width, height) = finished.source_dimensions;
        json!({
            "original": {"format": finished.source_format, "width": width, "height": height},
            // Written once and not in every key: a key is long, and a record's result is not.
            "prefix": self.settings.places.outputs(&job.payload.asset_id),
            "outputs": outputs.collect::<Vec<_>>(),
        })
    }
}

impl Handler for ImageHandler {
    type Payload = ImageResize;

    fn effect_policy(&self) -> EffectPolicy {
        EffectPolicy::RERUN
    }

    fn on_object(&self, object: &ObjectEvent) -> ObjectVerdict<ImageResize> {
        notification::job_of(object, &self.settings.places, &self.settings.uploads)
    }

    async fn handle(&self, job: &Job<ImageResize>, context: &JobContext) -> Result<Done, Failure> {
        let (original, room) = self.read(job, patience(context)).await?;
        let order = Order {
            original,
            sizes: job.payload.sizes.clone(),
            formats: job.payload.formats.clone(),
            settings: self.settings.render,
        };
        let finished = self.workshop.finish(order, room, patience(context)).await.map_err(picture_failure)?;
        self.write(job, &finished).await?;
        Ok(Done::with_result(self.result(job, &finished)))
    }
}

/// A job that only waits gives up early and keeps its attempt; once it works, it has half of the time at least. The last part is for
/// the step that cannot be cut, and for writing.
fn patience(context: &JobContext) -> Patience {
    let remaining = context.remaining();
    Patience { waiting: remaining / 8, working: remaining / 2 }
}

/// What a call to the bucket that failed means for its job.
fn object_failure(error: ObjectError, job: &Job<ImageResize>) -> Failure {
    let (code, message) = (error.code(), error.to_string());
    if matches!(error, ObjectError::NotReady { .. }) {
        // Its jobs only wait, which is no error to the kit; but nothing is made until somebody acts.
        tracing::error!(job_id = job.id.as_str(), error_code = code, error = message, "bucket not ready");
    }
    match error {
        ObjectError::Gone { .. } | ObjectError::Rejected { .. } => Failure::permanent(code, message),
        ObjectError::NotReady { .. } => Failure::defer(code, message, Some(NOT_READY_DELAY)),
        ObjectError::Throttled { .. } | ObjectError::Outage { .. } => Failure::defer(code, message, None),
        ObjectError::Unavailable { .. } => Failure::retry(code, message),
    }
}

fn picture_failure(not_finished: NotFinished) -> Failure {
    match not_finished {
        NotFinished::Waited => Failure::no_time(),
        NotFinished::CutOff => {
            let message =
                "the pictures took longer than the function had: give it more memory, which brings processors, or more time";
            Failure::retry(PictureError::Cancelled.code(), message)
        }
        NotFinished::Picture(error) => Failure::permanent(error.code(), error.to_string()),
    }
}
