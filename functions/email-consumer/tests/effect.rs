//! What the provider's answer makes of a job. Mails are counted: what may have gone out does not go out again under `hold`.

mod scene;

use std::{sync::Arc, time::Duration};

use email_consumer::SendError;
use ikkai::{
    idempotency::{EffectPolicy, ErrorClass, Status},
    observability::logs::{LevelSetting, LogSetup, capture::Captured},
    testing::{self, MessageBuilder, StoreCall, StoreFault},
};
use scene::{Scene, SilentMailer, WatchingMailer, scene, scene_under};

const LOST: SendError = SendError::Unknown { code: "provider_timeout" };

#[tokio::test]
async fn the_effect_is_announced_before_the_mail_goes_out_under_hold_only() {
    for (policy, announced, writes) in [(EffectPolicy::Hold, true, 3), (EffectPolicy::RERUN, false, 2)] {
        let mailer = Arc::new(WatchingMailer::default());
        let scene = Scene::new(mailer.clone(), policy);
        mailer.records.set(scene.bench.records.clone()).unwrap();
        scene.deliver(&MessageBuilder::email("mail-1")).await;
        assert_eq!(mailer.effect_begun.get(), Some(&announced), "{policy:?}");
        assert_eq!(scene.bench.store.writes(), writes, "{policy:?}");
    }
}

#[tokio::test]
async fn an_effect_that_could_not_be_announced_does_not_start() {
    let (scene, mailer) = scene([]);
    scene.bench.store.fail_next(StoreCall::Replace, StoreFault::LoseAnswer);
    // Whatever the kit asks to find out: it does not get an answer either.
    scene.bench.store.fail_next(StoreCall::Get, StoreFault::Unreachable);
    let message = MessageBuilder::email("mail-1");
    assert_eq!(scene.deliver(&message).await.failed, ["mail-1"]);
    assert!(mailer.mails().is_empty());
    assert_eq!(scene.record(&message).status, Status::RetryScheduled);
}

#[tokio::test]
async fn throttling_comes_back_when_the_provider_says_so_and_uses_no_attempt() {
    let throttled = |retry_after: Option<u64>| SendError::Throttled {
        code: "provider_throttled",
        retry_after: retry_after.map(Duration::from_secs),
    };
    for (retry_after, visible_in) in [(Some(17), 17), (None, 60), (Some(0), 60)] {
        let (scene, mailer) = scene([throttled(retry_after)]);
        let message = MessageBuilder::email("mail-1");
        assert_eq!(scene.deliver(&message).await.failed, ["mail-1"]);
        let record = scene.record(&message);
        assert_eq!((record.status, record.attempts, record.effect_begun), (Status::RetryScheduled, 0, false));
        assert_eq!(record.last_error.unwrap().class, ErrorClass::Deferred);
        assert_eq!(scene.visible_in(&message), Duration::from_secs(visible_in));

        scene.bench.clock.advance(Duration::from_secs(visible_in));
        assert!(scene.deliver(&message.clone().received(2)).await.failed.is_empty());
        assert_eq!((mailer.accepted(), scene.record(&message).attempts), (1, 1));
    }
}

#[tokio::test]
async fn throttling_for_longer_than_there_are_receives_kills_no_job() {
    let (scene, mailer) = scene((0..20).map(|_| SendError::Throttled { code: "provider_throttled", retry_after: None }));
    let mut message = MessageBuilder::email("mail-1");
    let mut receives = 0;
    while scene.bench.record_of(&message).is_none_or(|record| record.status != Status::Succeeded) {
        receives += 1;
        message = message.received(receives);
        let renewed = scene.bench.queue.sent().len();
        let run = scene.deliver(&message).await;
        if scene.bench.queue.sent().len() > renewed {
            // A fresh copy took the message's place.
            assert!(run.failed.is_empty());
            receives = 0;
        }
        assert!(receives < 6, "the queue would have moved it to the dead-letter queue");
        scene.bench.clock.advance(Duration::from_secs(900));
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(900)).await;
        tokio::time::resume();
    }
    assert_eq!((mailer.accepted(), scene.record(&message).attempts), (1, 1));
}

#[tokio::test]
async fn a_provider_that_cannot_be_reached_uses_no_attempt_and_leaves_no_doubt_however_often() {
    for policy in [EffectPolicy::Hold, EffectPolicy::RERUN] {
        let beyond_all_attempts = testing::settings().max_attempts + 1;
        let script = (0..beyond_all_attempts).map(|_| SendError::Unreachable { code: "provider_unreachable" });
        let (scene, mailer) = scene_under(policy, script);
        let message = MessageBuilder::email("mail-1");
        for _ in 0..beyond_all_attempts {
            assert_eq!(scene.deliver(&message).await.failed, ["mail-1"]);
            let record = scene.record(&message);
            assert_eq!((record.status, record.attempts, record.effect_begun), (Status::RetryScheduled, 0, false), "{policy:?}");
            let error = record.last_error.unwrap();
            assert_eq!((error.class, error.code.as_str()), (ErrorClass::Deferred, "provider_unreachable"));
            assert_eq!(scene.visible_in(&message), Duration::from_secs(60));
            scene.bench.clock.advance(Duration::from_secs(60));
        }
        assert!(scene.deliver(&message).await.failed.is_empty());
        assert_eq!((mailer.accepted(), scene.record(&message).attempts), (1, 1));
    }
}

#[tokio::test]
async fn an_account_that_is_not_ready_is_left_alone_for_a_quarter_of_an_hour_and_uses_no_attempt() {
    for code in ["sending_paused", "identity_not_verified", "configuration_set_not_found", "provider_access_denied"] {
        let logs = Captured::start(LogSetup::new(LevelSetting::Info).own_crate("email_consumer"));
        let (scene, mailer) = scene([SendError::AccountNotReady { code }]);
        let message = MessageBuilder::email("mail-1");
        scene.deliver(&message).await;
        assert_eq!(scene.ending(&message), (Status::RetryScheduled, Some(code.to_owned())));
        assert_eq!((scene.record(&message).attempts, scene.record(&message).effect_begun), (0, false));
        assert_eq!(scene.visible_in(&message), Duration::from_secs(900));
        // Nothing dies and no attempt is used, so this line is what an operator sees.
        let is_told = |line: &String| line.contains("\"ERROR\"") && line.contains(&format!("\"error_code\":\"{code}\""));
        assert_eq!(logs.lines().iter().filter(|line| is_told(line)).count(), 1, "{:?}", logs.lines());

        scene.bench.clock.advance(Duration::from_secs(900));
        assert!(scene.deliver(&message.clone().received(2)).await.failed.is_empty());
        assert_eq!((mailer.accepted(), scene.record(&message).attempts), (1, 1));
    }
}

#[tokio::test]
async fn a_failed_try_that_sent_nothing_is_tried_again_and_is_one_mail_in_the_end() {
    let (scene, mailer) = scene([SendError::NotSent { code: "provider_error" }]);
    let message = MessageBuilder::email("mail-1");
    assert_eq!(scene.deliver(&message).await.failed, ["mail-1"]);
    assert_eq!(scene.ending(&message), (Status::RetryScheduled, Some("provider_error".to_owned())));
    assert!(scene.deliver(&message.clone().received(2)).await.failed.is_empty());
    let record = scene.record(&message);
    assert_eq!((record.status, record.attempts), (Status::Succeeded, 2));
    assert_eq!((mailer.mails().len(), mailer.accepted()), (2, 1));
}

#[tokio::test]
async fn a_provider_that_goes_on_failing_ends_dead_and_not_in_doubt() {
    let (scene, mailer) = scene((0..3).map(|_| SendError::NotSent { code: "provider_error" }));
    let message = MessageBuilder::email("mail-1");
    for receive in 1..=4 {
        assert_eq!(scene.deliver(&message.clone().received(receive)).await.failed, ["mail-1"]);
        scene.bench.clock.advance(Duration::from_secs(60));
    }
    assert_eq!(scene.ending(&message), (Status::Dead, Some("provider_error".to_owned())));
    assert_eq!((mailer.mails().len(), mailer.accepted()), (3, 0));
}

#[tokio::test]
async fn a_refused_mail_is_dead_after_one_call() {
    for policy in [EffectPolicy::Hold, EffectPolicy::RERUN] {
        let (scene, mailer) = scene_under(policy, [SendError::Rejected { code: "message_rejected" }]);
        let message = MessageBuilder::email("mail-1");
        for receive in 1..=3 {
            assert_eq!(scene.deliver(&message.clone().received(receive)).await.failed, ["mail-1"]);
        }
        assert_eq!(scene.ending(&message), (Status::Dead, Some("message_rejected".to_owned())));
        assert_eq!(mailer.mails().len(), 1);
    }
}

#[tokio::test]
async fn an_answer_lost_after_the_mail_was_accepted_is_in_doubt_and_is_never_repeated() {
    let (scene, mailer) = scene([LOST]);
    let message = MessageBuilder::email("mail-1");
    assert_eq!(scene.deliver(&message).await.failed, ["mail-1"]);
    let record = scene.record(&message);
    let error = record.last_error.unwrap();
    assert_eq!((record.status, error.class, error.code.as_str()), (Status::InDoubt, ErrorClass::Ambiguous, "provider_timeout"));
    assert_eq!(scene.visible_in(&message), Duration::ZERO, "on its way to the dead-letter queue");

    for receive in 2..=6 {
        scene.bench.clock.advance(Duration::from_secs(3600));
        assert_eq!(scene.deliver(&message.clone().received(receive)).await.failed, ["mail-1"]);
    }
    // A native redrive sends it anew, later than anything that happened.
    let redriven = message.clone().message_id("redriven").sent_at(ikkai::clock::Clock::now(&scene.bench.clock));
    assert_eq!(scene.deliver(&redriven).await.failed, ["redriven"]);
    assert_eq!((mailer.mails().len(), scene.record(&message).status), (1, Status::InDoubt));
}

#[tokio::test]
async fn an_answer_lost_is_tried_again_under_rerun_and_in_doubt_when_it_is_the_last() {
    let (scene, mailer) = scene_under(EffectPolicy::RERUN, [LOST]);
    let message = MessageBuilder::email("mail-1");
    scene.deliver(&message).await;
    assert_eq!(scene.ending(&message), (Status::RetryScheduled, Some("provider_timeout".to_owned())));
    assert!(scene.deliver(&message.clone().received(2)).await.failed.is_empty());
    assert_eq!((mailer.mails().len(), scene.record(&message).status), (2, Status::Succeeded));

    let (scene, mailer) = scene_under(EffectPolicy::RERUN, [LOST, LOST, LOST]);
    for receive in 1..=4 {
        scene.deliver(&message.clone().received(receive)).await;
        scene.bench.clock.advance(Duration::from_secs(60));
    }
    assert_eq!((mailer.mails().len(), scene.record(&message).status), (3, Status::InDoubt));
}

#[tokio::test(start_paused = true)]
async fn a_mail_cut_off_by_the_deadline_is_in_doubt_under_hold_and_tried_again_under_rerun() {
    for (policy, status) in [(EffectPolicy::Hold, Status::InDoubt), (EffectPolicy::RERUN, Status::RetryScheduled)] {
        let mailer = Arc::new(SilentMailer::default());
        let scene = Scene::new(mailer.clone(), policy);
        let message = MessageBuilder::email("mail-1");
        assert_eq!(scene.deliver(&message).await.failed, ["mail-1"]);
        assert_eq!(scene.ending(&message), (status, Some("handler_timed_out".to_owned())));
        assert_eq!(mailer.taken(), 1);
    }
}

#[tokio::test]
async fn a_receipt_that_was_lost_after_the_mail_settles_nothing_twice() {
    let (scene, mailer) = scene([]);
    // The mail is out; every write that would say so fails.
    scene.bench.store.fail_next(StoreCall::Replace, StoreFault::Delay(Duration::ZERO));
    for _ in 0..8 {
        scene.bench.store.fail_next(StoreCall::Replace, StoreFault::Unreachable);
    }
    let message = MessageBuilder::email("mail-1");
    assert_eq!(scene.deliver(&message).await.failed, ["mail-1"]);
    assert_eq!((scene.record(&message).status, mailer.accepted()), (Status::Running, 1));

    // The lease is over: to the next worker it looks as if this one had died between the mail and its settlement.
    let (next, next_mailer) = self::scene([]);
    next.bench.records.put(scene.record(&message));
    next.bench.clock.advance(Duration::from_secs(120));
    assert_eq!(next.deliver(&message.clone().received(2)).await.failed, ["mail-1"]);
    assert_eq!(next.ending(&message), (Status::InDoubt, Some("lease_ended_after_effect_began".to_owned())));
    assert_eq!(next_mailer.mails().len(), 0);
}
