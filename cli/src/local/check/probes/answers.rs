//! What becomes of a batch by what the function answers.

use std::collections::BTreeSet;
use std::time::Duration;

use check_probe::{Instruction, Wish};
use futures::FutureExt;

use crate::local::check::finding::Finding;
use crate::local::check::lab::Lab;
use crate::local::check::probe::{Needs, Probe};
use crate::local::check::trouble::Trouble;
use crate::local::check::worker::{Mapping, VISIBILITY_SECONDS};

const SOURCE: &str = "https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html";

/// A probe that sends three messages with one wish for their batch.
macro_rules! answered {
    ($id:literal, $feature:literal, $aws:literal, $wish:expr, $expected:expr) => {
        Probe {
            id: $id,
            group: "answers of a batch",
            feature: $feature,
            aws: $aws,
            source: SOURCE,
            needs: Needs::Function,
            run: |lab| batch(lab, $id, [$wish; 3], $expected).boxed_local(),
        }
    };
}

pub(super) const PROBES: [Probe; 9] = [
    Probe {
        id: "partial-batch-failure",
        group: "answers of a batch",
        feature: "partial batch failure",
        aws: "Only the messages that the function reports come back; the others are deleted.",
        source: SOURCE,
        needs: Needs::Function,
        run: |lab| batch(lab, "partial-batch-failure", [Wish::Done, Wish::Fail, Wish::Done], Expected::Reported).boxed_local(),
    },
    answered!(
        "empty-item-identifier",
        "empty `itemIdentifier`",
        "An empty `itemIdentifier` fails the whole batch.",
        Wish::EmptyIdentifier,
        Expected::All
    ),
    answered!(
        "null-item-identifier",
        "`itemIdentifier` null",
        "An `itemIdentifier` that is null fails the whole batch.",
        Wish::NullIdentifier,
        Expected::All
    ),
    answered!(
        "unknown-item-identifier",
        "unknown `itemIdentifier`",
        "The id of a message that is not in the batch fails the whole batch.",
        Wish::UnknownIdentifier,
        Expected::All
    ),
    answered!(
        "misspelt-item-key",
        "misspelt key",
        "An entry without the key `itemIdentifier` fails the whole batch.",
        Wish::MisspeltKey,
        Expected::All
    ),
    answered!(
        "empty-object-answer",
        "answer `{}`",
        "An empty answer means that every message is done.",
        Wish::EmptyObject,
        Expected::Nothing
    ),
    answered!(
        "null-list-answer",
        "`batchItemFailures` null",
        "A list that is null means that every message is done.",
        Wish::NullList,
        Expected::Nothing
    ),
    answered!("null-answer", "answer `null`", "A null answer means that every message is done.", Wish::Null, Expected::Nothing),
    answered!(
        "function-error",
        "error of the function",
        "When the function fails, the whole batch comes back.",
        Wish::Error,
        Expected::All
    ),
];

/// Which messages are to come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    Nothing,
    Reported,
    All,
}

/// Puts three messages before the function and looks which come back: with one receive allowed, what comes back dies.
async fn batch(lab: &Lab, name: &str, wishes: [Wish; 3], expected: Expected) -> Result<Finding, Trouble> {
    let reports = lab.queue(&format!("{name}-told"), Vec::new()).await?;
    let (queue, dead) = lab.queue_with_dead_letters(name, VISIBILITY_SECONDS, 1).await?;
    let bodies: Vec<_> =
        wishes.iter().enumerate().map(|(number, wish)| lab.instruction(format!("m{number}"), &reports, *wish)).collect();
    // Before there is a mapping, so that they come as one batch where that is possible.
    lab.send_all(&queue, &bodies).await?;
    lab.map(&queue, Mapping::default()).await?;
    lab.reports(&reports, wishes.len()).await?;
    // What was not deleted is in flight until its visibility timeout ends.
    lab.eventually("every message to be deleted or dead", async || {
        let first = lab.held(&queue).await?;
        tokio::time::sleep(Duration::from_millis(300)).await;
        Ok((first == 0 && lab.held(&queue).await? == 0).then_some(()))
    })
    .await?;
    let returned = lab.take(&dead, wishes.len(), Duration::from_secs(3)).await?;
    let read = returned.iter().filter_map(|message| serde_json::from_str::<Instruction>(message.body.as_deref()?).ok());
    Ok(judge(&wishes, &read.map(|instruction| instruction.tag).collect(), expected))
}

fn judge(wishes: &[Wish], returned: &BTreeSet<String>, expected: Expected) -> Finding {
    let wanted = wishes.iter().enumerate().filter(|(_, wish)| match expected {
        Expected::Nothing => false,
        Expected::Reported => **wish == Wish::Fail,
        Expected::All => true,
    });
    let wanted: BTreeSet<String> = wanted.map(|(number, _)| format!("m{number}")).collect();
    let seen = match returned.len() {
        0 => format!("none of {} messages came back", wishes.len()),
        all if all == wishes.len() => format!("all {all} messages came back"),
        some => format!("{some} of {} messages came back", wishes.len()),
    };
    Finding::judged(*returned == wanted, seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::check::finding::Verdict;

    fn verdict(wishes: &[Wish], returned: &[&str], expected: Expected) -> Verdict {
        judge(wishes, &returned.iter().map(|tag| (*tag).to_owned()).collect(), expected).verdict
    }

    #[test]
    fn of_a_partial_failure_the_reported_message_alone_may_come_back() {
        let wishes = [Wish::Done, Wish::Fail, Wish::Done];
        assert_eq!(verdict(&wishes, &["m1"], Expected::Reported), Verdict::AsAws);
        for returned in [&[][..], &["m0"], &["m0", "m1", "m2"]] {
            assert_eq!(verdict(&wishes, returned, Expected::Reported), Verdict::Differs, "{returned:?}");
        }
    }

    #[test]
    fn a_whole_batch_is_all_or_nothing() {
        let wishes = [Wish::NullIdentifier; 3];
        assert_eq!(verdict(&wishes, &["m0", "m1", "m2"], Expected::All), Verdict::AsAws);
        assert_eq!(verdict(&wishes, &["m0", "m2"], Expected::All), Verdict::Differs);
        assert_eq!(verdict(&wishes, &[], Expected::Nothing), Verdict::AsAws);
        assert_eq!(verdict(&wishes, &["m2"], Expected::Nothing), Verdict::Differs);
    }
}
