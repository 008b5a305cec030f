//! Asks before anything changes.

use std::io::IsTerminal;

use tokio::sync::oneshot;

use super::ending::Ending;
use crate::screen::Screen;

/// Who is asked.
#[derive(Debug)]
pub(super) struct Asker(Who);

#[derive(Debug)]
enum Who {
    /// Nobody: `--yes` has said it already.
    SaidYes,
    /// The person at the terminal.
    Person,
    /// There is no terminal.
    Nobody,
    /// A test.
    #[cfg(test)]
    Scripted(std::collections::VecDeque<&'static str>),
}

impl Asker {
    /// Whom this process can ask.
    pub(super) fn new(yes: bool) -> Self {
        Self(match yes {
            true => Who::SaidYes,
            false if std::io::stdin().is_terminal() => Who::Person,
            false => Who::Nobody,
        })
    }

    /// For tests: `None` is `--yes`, and no answers are no terminal.
    #[cfg(test)]
    pub(super) fn scripted(answers: Option<&[&'static str]>) -> Self {
        Self(match answers {
            None => Who::SaidYes,
            Some([]) => Who::Nobody,
            Some(answers) => Who::Scripted(answers.iter().copied().collect()),
        })
    }

    /// Whether anybody will be asked: then it is worth finding out what to ask.
    pub(super) fn will_ask(&self) -> bool {
        !matches!(self.0, Who::SaidYes)
    }

    /// Says what is missing where a question cannot be asked, before anything was looked at.
    pub(super) fn cannot_ask(&self, screen: &Screen) -> Option<Ending> {
        matches!(self.0, Who::Nobody).then(|| {
            screen.note(
                "error: this changes something, and there is no terminal to ask at; nothing was done. \
                 `--yes` does it without a question",
            );
            Ending::Usage
        })
    }

    /// Asks. `Err`: it is not to be done, and was said so.
    pub(super) async fn consent(&mut self, screen: &Screen, question: &str) -> Result<(), Ending> {
        let answer = match &mut self.0 {
            Who::SaidYes => return Ok(()),
            Who::Nobody => return Err(self.cannot_ask(screen).unwrap_or(Ending::Usage)),
            Who::Person => {
                screen.note(format!("{question} [y/N]"));
                read_line().await
            }
            #[cfg(test)]
            Who::Scripted(answers) => {
                screen.note(format!("{question} [y/N]"));
                answers.pop_front().unwrap_or_default().to_owned()
            }
        };
        if matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes") {
            return Ok(());
        }
        screen.note("nothing was changed");
        Err(Ending::Failed)
    }
}

/// Asks for a word that nobody types without thinking. `Err`: it is not to be done, and was said so.
pub(super) async fn typed(screen: &Screen, question: &str, word: &str) -> Result<(), Ending> {
    if !std::io::stdin().is_terminal() {
        screen.note("error: this has to be typed, and there is no terminal; nothing was done");
        return Err(Ending::Usage);
    }
    screen.note(question);
    if read_line().await.trim() == word {
        return Ok(());
    }
    screen.note("nothing was changed");
    Err(Ending::Failed)
}

/// A line from the terminal. A thread of its own reads it: one of Tokio's would keep the process from ending after Ctrl-C.
async fn read_line() -> String {
    let (sender, line) = oneshot::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        let _ = std::io::stdin().read_line(&mut text);
        let _ = sender.send(text);
    });
    tokio::select! {
        line = line => line.unwrap_or_default(),
        _ = tokio::signal::ctrl_c() => String::new(),
    }
}

/// Waits for the answer to a change that was consented to, and no longer than the person does: the question has taken Ctrl-C away from the
/// system, and it stays taken. `Err`: the answer was not awaited, and was said so, with `look`: how to see what came of it.
pub(super) async fn awaited<T>(screen: &Screen, look: &str, answer: impl Future<Output = T>) -> Result<T, Ending> {
    unless(tokio::signal::ctrl_c(), screen, look, answer).await
}

async fn unless<T>(
    interrupt: impl Future<Output = std::io::Result<()>>,
    screen: &Screen,
    look: &str,
    answer: impl Future<Output = T>,
) -> Result<T, Ending> {
    tokio::select! {
        biased;
        answer = answer => Ok(answer),
        Ok(()) = interrupt => {
            screen.note(format!("interrupted: the answer was not awaited, and what was asked may be done; {look}"));
            Err(Ending::Interrupted)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;
    use crate::screen::Format;

    async fn asked(answers: Option<&[&'static str]>) -> (Result<(), Ending>, String) {
        let (screen, memory) = Screen::remembering(Format::Text);
        let consent = Asker::scripted(answers).consent(&screen, "put 3 messages back?").await;
        (consent, memory.notes())
    }

    #[tokio::test]
    async fn only_a_yes_is_one() {
        for yes in ["y\n", "Y\n", "yes\n", " YES \n"] {
            assert_eq!(asked(Some(&[yes])).await.0, Ok(()), "{yes}");
        }
        for no in ["\n", "", "n\n", "yy\n", "ja\n"] {
            let (consent, said) = asked(Some(&[no])).await;
            assert_eq!(consent, Err(Ending::Failed), "{no}");
            assert_eq!(said, "put 3 messages back? [y/N]\nnothing was changed");
        }
    }

    #[tokio::test]
    async fn who_has_said_yes_is_not_asked() {
        assert_eq!(asked(None).await, (Ok(()), String::new()));
        assert!(!Asker::scripted(None).will_ask());
    }

    #[tokio::test]
    async fn an_answer_is_awaited_no_longer_than_the_person_does() {
        let (screen, memory) = Screen::remembering(Format::Text);
        let interrupted = unless(ready(Ok(())), &screen, "`ikkai dlq show j` tells", pending::<()>()).await;
        assert_eq!(interrupted, Err(Ending::Interrupted));
        assert!(memory.notes().contains("not awaited") && memory.notes().contains("`ikkai dlq show j`"), "{}", memory.notes());
        let deaf = || std::io::Error::other("no signals here");
        for interrupt in [Ok(()), Err(deaf())] {
            assert_eq!(unless(ready(interrupt), &screen, "", ready(1)).await, Ok(1), "what has come counts");
        }
    }

    #[tokio::test]
    async fn without_a_terminal_the_mend_is_named() {
        let (consent, said) = asked(Some(&[])).await;
        assert_eq!(consent, Err(Ending::Usage));
        assert!(said.contains("--yes") && said.contains("nothing was done"), "{said}");
    }
}
