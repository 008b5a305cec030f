use ikkai::consumer::{Done, Failure, Handler, JobContext, ObjectEvent, ObjectVerdict};
use ikkai::job::{Job, ReferenceId};
use ikkai::testing::{Bench, MessageBuilder};
use serde_json::json;

use crate::handler::NotifyPartner;
use crate::payload::PartnerNotify;

/// Tells a partner about each file that is put into the partner's folder.
pub struct NotifyOfUploads {
    pub notify: NotifyPartner,
    pub bucket: String,
    pub prefix: String,
}

impl Handler for NotifyOfUploads {
    type Payload = PartnerNotify;

    fn on_object(&self, object: &ObjectEvent) -> ObjectVerdict<PartnerNotify> {
        if object.bucket != self.bucket {
            return ObjectVerdict::Refuse { code: "wrong_bucket", message: "the event is about another bucket".to_owned() };
        }
        let Some((partner, file)) = object.key.strip_prefix(&self.prefix).and_then(|name| name.split_once('/')) else {
            return ObjectVerdict::Skip("outside_the_folders");
        };
        match (ReferenceId::parse(partner), ReferenceId::parse(file)) {
            (Ok(partner_id), Ok(event_id)) => ObjectVerdict::Job(PartnerNotify { partner_id, event_id }),
            (Err(error), _) | (_, Err(error)) => ObjectVerdict::Refuse { code: "key_is_no_id", message: error.to_string() },
        }
    }

    async fn handle(&self, job: &Job<PartnerNotify>, context: &JobContext) -> Result<Done, Failure> {
        self.notify.handle(job, context).await
    }
}

#[tokio::test]
async fn an_upload_into_a_partners_folder_is_one_notice() {
    let partner = std::sync::Arc::new(ikkai::testing::MemoryQueue::new());
    let notify = NotifyPartner { partner: partner.clone() };
    let bench = Bench::new(NotifyOfUploads { notify, bucket: "assets".to_owned(), prefix: "inbox/".to_owned() });
    let event = |bucket: &str, key: &str| {
        let object =
            json!({"key": key, "size": 7, "eTag": "d41d8cd98f00b204e9800998ecf8427e", "sequencer": "0055AED6DCD90281E5"});
        let s3 = json!({"bucket": {"name": bucket}, "object": object});
        json!({"Records": [{"eventSource": "aws:s3", "eventName": "ObjectCreated:Put", "s3": s3}]}).to_string()
    };
    let ours = event("assets", "inbox/partner-7/order-1001.csv");
    let batch = [
        MessageBuilder::new("m1", ours.clone()),
        MessageBuilder::new("m2", event("assets", "inbox/readme.txt")),
        MessageBuilder::new("m3", event("elsewhere", "inbox/partner-7/order-1001.csv")),
    ];
    assert_eq!(bench.run_batch(batch.map(|message| message.build())).await.unwrap().failed, ["m3"]);
    assert!(bench.run_batch([MessageBuilder::new("m4", ours).build()]).await.unwrap().failed.is_empty());
    assert_eq!(partner.sent().len(), 1);
}
