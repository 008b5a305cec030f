//! Changes against a scripted control.

use std::cell::RefCell;

use super::*;
use crate::doctor::facts::{Gap, Loops};
use crate::screen::Format;

/// A mapping that takes some looks to follow a change.
struct Scripted {
    mapping: RefCell<MappingFacts>,
    begun: RefCell<Vec<Change>>,
    looks: RefCell<u32>,
    /// After so many looks a change has taken effect.
    effect_after: u32,
    refusal: Option<&'static str>,
}

impl Scripted {
    fn new(state: &str) -> Self {
        let mapping = MappingFacts {
            uuid: "u".to_owned(),
            source_arn: "arn:aws:sqs:r:1:s-email".to_owned(),
            state: state.to_owned(),
            batch_size: 10,
            window_seconds: 0,
            reports_item_failures: true,
            max_concurrency: Some(2),
            filters: 0,
            provisioned_pollers: false,
        };
        Self { mapping: mapping.into(), begun: RefCell::default(), looks: RefCell::default(), effect_after: 3, refusal: None }
    }

    fn begun(&self) -> Vec<Change> {
        self.begun.borrow().clone()
    }
}

impl Control for Scripted {
    async fn look(&self, _: &DeployedConsumer) -> ConsumerFacts {
        let begun = self.begun.borrow().last().copied();
        let mut looks = self.looks.borrow_mut();
        *looks += u32::from(begun.is_some());
        let effect = *looks >= self.effect_after;
        let mut mapping = self.mapping.borrow_mut();
        match begun {
            None => {}
            Some(Change::Pause) => mapping.state = if effect { "Disabled" } else { "Disabling" }.to_owned(),
            Some(Change::Resume) => mapping.state = if effect { "Enabled" } else { "Enabling" }.to_owned(),
            Some(Change::Concurrency(most)) => {
                mapping.state = if effect { "Enabled" } else { "Updating" }.to_owned();
                mapping.max_concurrency = Some(most.into());
            }
        }
        facts(Fact::Known(vec![mapping.clone()]))
    }

    async fn begin(&self, mapping: &str, change: Change) -> Result<(), String> {
        assert_eq!(mapping, "u");
        match self.refusal {
            Some(refusal) => Err(refusal.to_owned()),
            None => {
                self.begun.borrow_mut().push(change);
                Ok(())
            }
        }
    }
}

/// Somebody without the permission to look.
struct Blind;

impl Control for Blind {
    async fn look(&self, _: &DeployedConsumer) -> ConsumerFacts {
        facts(Fact::Unknown(Gap::Denied { action: "lambda:ListEventSourceMappings".to_owned() }))
    }

    async fn begin(&self, _: &str, _: Change) -> Result<(), String> {
        unreachable!("nothing is changed unseen")
    }
}

use crate::doctor::facts::Fact;

fn facts(mappings: Fact<Vec<MappingFacts>>) -> ConsumerFacts {
    ConsumerFacts {
        name: "email".to_owned(),
        function_name: "s-email-consumer".to_owned(),
        function: Fact::Unknown(Gap::Missing),
        reserved: Fact::Known(None),
        loops: Fact::Known(Loops::Allowed),
        mappings,
        queue_name: "s-email".to_owned(),
        queue: Fact::Unknown(Gap::Missing),
        dead_letter_queue_name: "s-email-dlq".to_owned(),
        dead_letter_queue: Fact::Unknown(Gap::Missing),
        alarms: Fact::Known(Vec::new()),
        oldest_dead_letter_seconds: Fact::Known(None),
    }
}

fn email() -> DeployedConsumer {
    DeployedConsumer {
        name: "email".to_owned(),
        prefix: "Email".to_owned(),
        function: "s-email-consumer".to_owned(),
        queue: "s-email".to_owned(),
        dead_letter_queue: "s-email-dlq".to_owned(),
    }
}

/// Makes a change; `answers` as in [`Asker::scripted`].
async fn run(control: &impl Control, change: Change, answers: Option<&[&'static str]>) -> Ending {
    let screen = Screen::new(Format::Json);
    let (interrupt, _wish) = Interrupt::scripted();
    apply(&screen, "s", control, &[email()], change, &mut Asker::scripted(answers), || interrupt).await
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_ends_the_wait_and_leaves_the_next_ones_untouched() {
    let control = Scripted { effect_after: u32::MAX, ..Scripted::new("Enabled") };
    let (screen, memory) = Screen::remembering(Format::Text);
    let (interrupt, wish) = Interrupt::scripted();
    let consumers = [email(), DeployedConsumer { name: "image".to_owned(), ..email() }];
    let stopping = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        wish.send(true).unwrap();
    };
    let mut asker = Asker::scripted(None);
    let (ending, ()) = tokio::join!(apply(&screen, "s", &control, &consumers, Change::Pause, &mut asker, || interrupt), stopping);
    assert_eq!((ending, control.begun()), (Ending::Failed, vec![Change::Pause]));
    let notes = memory.notes();
    assert!(notes.contains("pause email: interrupted; the change goes on"), "{notes}");
    assert!(notes.contains("pause image: interrupted; it was not touched"), "{notes}");
}

#[tokio::test(start_paused = true)]
async fn a_change_is_asked_for_made_and_waited_for() {
    for (state, change) in [("Enabled", Change::Pause), ("Disabled", Change::Resume), ("Enabled", Change::Concurrency(10))] {
        let control = Scripted::new(state);
        assert_eq!(run(&control, change, Some(&["y"])).await, Ending::Done);
        assert_eq!(control.begun(), [change]);
        assert_eq!(*control.looks.borrow(), 3, "{change:?} was waited for");
    }
}

#[tokio::test(start_paused = true)]
async fn without_consent_nothing_changes() {
    for (answers, ending) in [(&["n"][..], Ending::Failed), (&[], Ending::Usage)] {
        let control = Scripted::new("Enabled");
        assert_eq!(run(&control, Change::Pause, Some(answers)).await, ending);
        assert_eq!(control.begun(), []);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_so_already_is_neither_asked_nor_changed() {
    let control = Scripted::new("Disabled");
    assert_eq!(run(&control, Change::Pause, Some(&[])).await, Ending::Done);
    assert_eq!(run(&control, Change::Concurrency(2), Some(&[])).await, Ending::Done);
    assert_eq!(control.begun(), []);
}

#[tokio::test(start_paused = true)]
async fn a_change_under_way_is_waited_for_and_not_made_again() {
    let control = Scripted { effect_after: 2, ..Scripted::new("Disabling") };
    // Somebody else began it.
    control.begun.borrow_mut().push(Change::Pause);
    assert_eq!(run(&control, Change::Pause, Some(&[])).await, Ending::Done);
    assert_eq!(control.begun(), [Change::Pause]);
}

#[tokio::test(start_paused = true)]
async fn a_change_that_takes_no_effect_is_a_failure_in_the_end() {
    let control = Scripted { effect_after: u32::MAX, ..Scripted::new("Enabled") };
    assert_eq!(run(&control, Change::Pause, None).await, Ending::Failed);
    assert_eq!(control.begun(), [Change::Pause]);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_a_failure() {
    let control = Scripted { refusal: Some("ResourceInUseException"), ..Scripted::new("Enabled") };
    assert_eq!(run(&control, Change::Pause, None).await, Ending::Failed);
    assert_eq!(run(&Blind, Change::Pause, None).await, Ending::Failed);
}
