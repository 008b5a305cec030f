//! Jobs of a FIFO queue.

use ikkai::job::JobId;
use ikkai_cli::local::proxy::Rule;
use serde_json::{Value, json};

use crate::harness::{CALLER, Lab, on_stack};

/// A mail about a business case.
fn mail_about(lab: &Lab, case: &str, key: &str) -> Value {
    let mut job = lab.mail_to("user-1", key);
    job["businessId"] = json!(case);
    job
}

#[test]
fn mails_of_one_business_case_go_out_in_the_order_in_which_they_were_posted_also_when_one_has_to_be_tried_again() {
    on_stack("order", &[("EmailQueueType", "fifo"), ("WebhookQueueType", "fifo"), ("FifoMaxReceiveCount", "12")], async |lab| {
        assert!(lab.stack.email_queue().ends_with("-email.fifo"), "{}", lab.stack.email_queue());
        let (case, other) = (lab.key("order"), lab.key("order"));
        let keys: Vec<String> = (0..4).map(|_| lab.key("in-order")).collect();
        let first = lab.job_id_of(&keys[0]);
        let fault = Rule::on("ses.SendEmail").job(first.as_str()).times(1).answer(500, "InternalFailure", "something broke");
        let fault = lab.aws.proxy().add(fault);
        let before = lab.aws.proxy().calls();

        let mut posted: Vec<JobId> = Vec::new();
        for key in &keys {
            posted.push(lab.post(key, &mail_about(lab, &case, key)).await);
        }
        let beside = lab.key("beside");
        let beside = lab.post(&beside, &mail_about(lab, &other, &beside)).await;
        for job_id in posted.iter().chain([&beside]) {
            lab.succeeded(job_id).await;
        }
        lab.queue_is_empty().await;

        assert_eq!(fault.hits(), 1, "the first was tried again");
        let calls = lab.aws.proxy().calls().since(&before);
        let mut sent: Vec<(u64, usize)> = Vec::new();
        for (index, job_id) in posted.iter().enumerate() {
            let mails = calls.about(job_id.as_str()).filter(|call| call.operation == "ses.SendEmail");
            sent.extend(mails.map(|call| (call.sequence, index)));
        }
        sent.sort_unstable();
        let order: Vec<usize> = sent.into_iter().map(|(_, index)| index).collect();
        assert_eq!(order, [0, 0, 1, 2, 3], "the first twice, then the others");

        let again = lab.post_as(CALLER, &keys[0], &mail_about(lab, &case, &keys[0])).await;
        assert_eq!((again.status, again.body["status"].as_str()), (202, Some("succeeded")));
    });
}
