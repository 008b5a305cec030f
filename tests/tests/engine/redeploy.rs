//! A function's code is swapped while its messages are in flight.

use ikkai::idempotency::Status;
use ikkai_cli::local::build::{self, Package};
use ikkai_cli::local::checkout::Checkout;
use ikkai_cli::local::process;
use ikkai_cli::local::redeploy::{RedeployError, Redeployed, redeploy};
use ikkai_cli::progress::Progress;

use crate::harness::{Lab, on_stack};

/// At the end of the program, where no loader looks.
const MARK: &[u8] = b"another build";

/// The consumer as it is, and the mark: other code that does the same.
async fn another_build(lab: &Lab) -> Package {
    let checkout = Checkout::find().expect("a checkout");
    let binary = build::binary(&checkout, "email-consumer", &Progress::silent()).await.expect("a binary");
    let mut content = std::fs::read(binary).expect("the binary");
    content.extend_from_slice(MARK);
    let path = lab.aws.folder().join("another-build");
    std::fs::write(&path, content).expect("a copy");
    Package::of("email-consumer", &path).expect("a package")
}

fn is_the_new_code(command: &str) -> bool {
    let program = command.split_whitespace().next().unwrap_or_default();
    std::fs::read(program).is_ok_and(|content| content.ends_with(MARK))
}

#[test]
fn no_job_is_lost_and_none_has_two_effects_while_the_code_is_swapped() {
    on_stack("redeploy", &[], async |lab| {
        let package = another_build(lab).await;
        let (engine, group) = (lab.aws.address(), lab.aws.engine_pid());
        let mut jobs = Vec::new();
        for number in 0..12 {
            jobs.push(lab.post_mail(&format!("before-{number}"), "user-1").await);
        }
        let swapped = redeploy(engine, group, &lab.stack, &package).await.expect("the code is swapped");
        assert!(matches!(swapped, Redeployed::Swapped { .. }), "{swapped:?}");
        jobs.push(lab.post_mail("after", "user-1").await);
        for job_id in &jobs {
            let record = lab.record_when(job_id, |record| record.status.is_final()).await;
            let effects = lab.aws.proxy().effects_of(job_id.as_str());
            match record.status {
                Status::Succeeded => assert_eq!(effects, 1, "{job_id}"),
                // This engine ends a worker in the middle of its batch, which AWS does not; then the record says that nobody knows.
                Status::InDoubt => assert!(effects <= 1, "{job_id}: {effects}"),
                other => panic!("{job_id} is {other:?}: {:?}", record.last_error),
            }
        }
        let after = jobs.last().expect("a job");
        assert_eq!(lab.record(after).await.expect("a record").status, Status::Succeeded, "the new code serves");
        // An engine may let the old processes finish what they have begun.
        let only_the_new_code_runs = async || {
            let workers = lab.aws.function_processes(lab.stack.email_consumer());
            let programs: Vec<_> = workers.iter().filter_map(|pid| process::find(*pid)).map(|found| found.command).collect();
            (!programs.is_empty() && programs.iter().all(|program| is_the_new_code(program))).then_some(())
        };
        lab.eventually("only the new code runs", only_the_new_code_runs).await;

        let again = redeploy(engine, group, &lab.stack, &package).await.expect("an answer");
        assert_eq!(again, Redeployed::Unchanged);
        let mut unknown = package.clone();
        unknown.name = "no-such-function".to_owned();
        let refused = redeploy(engine, group, &lab.stack, &unknown).await;
        assert!(matches!(refused, Err(RedeployError::NotInStack { .. })), "{refused:?}");
    });
}
