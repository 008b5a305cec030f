//! Answers that Lambda takes: it refuses larger ones, and then nobody learns what was done.

use crate::protocol::Answer;

/// Most bytes of an answer: 6 MB, less what a caller's wrapping takes
/// (<https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html>).
const MOST_BYTES: usize = 5_800_000;

impl Answer {
    /// The answer with as many of its single messages as fit. All verdicts of a run stand in its history.
    #[must_use]
    pub(crate) fn fit_to_send(self) -> Self {
        self.fit_into(MOST_BYTES)
    }

    fn fit_into(mut self, bytes: usize) -> Self {
        while self.to_json().to_string().len() > bytes && self.halve() {}
        self
    }

    /// Whether something could be left out.
    fn halve(&mut self) -> bool {
        fn half<T>(list: &mut Vec<T>) -> bool {
            let was = list.len();
            list.truncate(was / 2);
            was > 0
        }
        match self {
            Self::Redrive(run) => half(&mut run.verdicts),
            Self::Discard(discard) => half(&mut discard.run.verdicts),
            Self::History(history) => history.verdicts.as_mut().is_some_and(half),
            Self::List(list) => list.messages.as_mut().is_some_and(half),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{History, MessageVerdict, VerdictCode};

    #[test]
    fn an_answer_that_is_too_large_loses_single_messages_and_nothing_else() {
        let verdict =
            MessageVerdict { message_id: None, job_ids: vec!["x".repeat(100)], verdict: VerdictCode::Running, detail: None };
        let answer = Answer::History(History { runs: Vec::new(), verdicts: Some(vec![verdict; 100]) });
        let size = answer.to_json().to_string().len();
        assert_eq!(answer.clone().fit_into(size), answer);
        let Answer::History(history) = answer.clone().fit_into(size - 1) else { panic!("a history") };
        assert_eq!(history.verdicts.map(|verdicts| verdicts.len()), Some(50));
        let Answer::History(history) = answer.fit_into(1) else { panic!("a history") };
        assert_eq!(history.verdicts, Some(Vec::new()), "what cannot be made smaller is sent as it is");
    }
}
