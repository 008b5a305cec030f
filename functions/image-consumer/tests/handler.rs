//! What becomes of an `image.resize` job: outputs, records, and what is asked of the bucket.

mod scene;

use std::time::Duration;

use ikkai::{
    idempotency::{ErrorClass, Status},
    testing,
};
use image::ImageFormat as FileFormat;
use image_consumer::{Capacity, ObjectCall, ObjectError};
use scene::{Scene, file, fixture, job, message, notification, waves};
use serde_json::json;

fn photo() -> Vec<u8> {
    file(waves(90, 60), FileFormat::Jpeg)
}

#[tokio::test]
async fn a_job_writes_every_size_in_every_format_and_tells_what_it_wrote() {
    let scene = Scene::new();
    scene.upload("Ferien 2031/ü.jpg", photo());
    let message = job("Ferien 2031/ü.jpg", &[16, 48], &["webp", "jpeg", "png"]);
    assert!(scene.deliver(&message).await.failed.is_empty());

    let prefix = "derived/Ferien 2031/ü.jpg/";
    let names = ["16.jpg", "16.png", "16.webp", "48.jpg", "48.png", "48.webp"];
    assert_eq!(scene.keys(), names.map(|name| format!("{prefix}{name}")));
    for object in scene.objects.written().values() {
        let format = image::guess_format(&object.bytes).unwrap();
        assert_eq!(object.content_type, format.to_mime_type(), "the media type is that of the bytes");
        assert_eq!((object.bucket.as_str(), object.cache_control.as_str()), ("assets", "public, max-age=86400"));
    }
    let record = scene.record(&message);
    let result = record.result.unwrap();
    assert_eq!(record.status, Status::Succeeded);
    assert_eq!(result["original"], json!({"format": "jpeg", "width": 90, "height": 60}));
    assert_eq!(result["prefix"], prefix);
    let first = &result["outputs"][0];
    let bytes = scene.objects.written()[&format!("{prefix}48.webp")].bytes.len();
    assert_eq!(*first, json!({"name": "48.webp", "bytes": bytes, "width": 48, "height": 32}));
}

#[tokio::test]
async fn a_result_of_the_largest_job_fits_into_its_record() {
    let scene = Scene::new();
    let asset = format!("{}.jpg", "写".repeat(298));
    scene.upload(&asset, photo());
    let sizes: Vec<u32> = (8183..=8192).collect();
    let message = job(&asset, &sizes, &["webp", "jpeg", "png"]);
    scene.deliver(&message).await;
    let result = scene.record(&message).result.unwrap();
    assert_eq!(result["outputs"].as_array().map(Vec::len), Some(30), "{result}");
}

#[tokio::test]
async fn a_second_run_writes_the_same_bytes() {
    let (one, another) = (Scene::new(), Scene::new());
    for scene in [&one, &another] {
        scene.upload("x.jpg", photo());
        scene.deliver(&job("x.jpg", &[40], &["webp", "jpeg", "png"])).await;
    }
    assert_eq!(one.objects.written(), another.objects.written());
}

#[tokio::test]
async fn a_message_that_comes_again_asks_nothing_of_the_bucket() {
    let scene = Scene::new();
    scene.upload("x.jpg", photo());
    let message = job("x.jpg", &[40], &["webp"]);
    scene.deliver(&message).await;
    let calls = scene.objects.calls();
    assert!(scene.deliver(&message.clone().received(2)).await.failed.is_empty());
    assert_eq!(scene.objects.calls(), calls);
}

#[tokio::test]
async fn a_lost_answer_to_a_write_is_written_again_with_the_same_bytes() {
    let scene = Scene::new();
    scene.upload("x.jpg", photo());
    let message = job("x.jpg", &[40, 20], &["webp"]);
    scene.objects.lose_put_answer(ObjectError::Unavailable { code: "bucket_timeout" });
    assert_eq!(scene.deliver(&message).await.failed, ["image-1"]);
    assert_eq!(scene.ending(&message), (Status::RetryScheduled, Some((ErrorClass::Transient, "bucket_timeout".to_owned()))));
    let before = scene.objects.written();
    scene.bench.clock.advance(Duration::from_secs(3600));
    assert!(scene.deliver(&message.clone().received(2)).await.failed.is_empty());
    let after = scene.objects.written();
    assert_eq!(after.len(), 2);
    assert!(before.iter().all(|(key, object)| after[key] == *object));
}

#[tokio::test]
async fn the_version_that_is_named_is_the_one_that_is_read() {
    let scene = Scene::new();
    scene.upload("x.jpg", file(waves(30, 10), FileFormat::Png));
    scene.objects.add_version("assets", "uploads/x.jpg", "v1", file(waves(10, 30), FileFormat::Png));
    let message = message(json!({"assetId": "x.jpg", "versionId": "v1", "sizes": [9], "formats": ["png"]}));
    scene.deliver(&message).await;
    assert_eq!(scene.objects.calls()[0], ObjectCall::Open("uploads/x.jpg".to_owned(), Some("v1".to_owned())));
    assert_eq!(scene.picture("derived/x.jpg/9.png").height(), 9);
}

#[tokio::test]
async fn what_the_bucket_answers_decides_who_has_to_act() {
    let gone = |code| ObjectError::Gone { code };
    for (error, status, class) in [
        (gone("original_not_found"), Status::Dead, ErrorClass::Permanent),
        (gone("original_archived"), Status::Dead, ErrorClass::Permanent),
        (ObjectError::Rejected { code: "bucket_refused" }, Status::Dead, ErrorClass::Permanent),
        (ObjectError::NotReady { code: "bucket_access_denied" }, Status::RetryScheduled, ErrorClass::Transient),
        (ObjectError::Throttled { code: "bucket_throttled" }, Status::RetryScheduled, ErrorClass::Transient),
        (ObjectError::Outage { code: "bucket_unreachable" }, Status::RetryScheduled, ErrorClass::Transient),
        (ObjectError::Outage { code: "bucket_error" }, Status::RetryScheduled, ErrorClass::Transient),
        (ObjectError::Unavailable { code: "bucket_timeout" }, Status::RetryScheduled, ErrorClass::Transient),
    ] {
        let scene = Scene::new();
        scene.upload("x.jpg", photo());
        scene.objects.fail_open(error.clone());
        let message = job("x.jpg", &[40], &["webp"]);
        assert_eq!(scene.deliver(&message).await.failed, ["image-1"]);
        let record = scene.record(&message);
        let last = record.last_error.unwrap();
        assert_eq!((record.status, last.code.as_str()), (status, error.code()), "{error:?}");
        assert_eq!(last.class == ErrorClass::Permanent, class == ErrorClass::Permanent, "{error:?}");
        // What is only deferred has its attempt back.
        let deferred = matches!(error, ObjectError::NotReady { .. } | ObjectError::Throttled { .. } | ObjectError::Outage { .. });
        assert_eq!(record.attempts, u32::from(!deferred), "{error:?}");
        assert!(!last.message.contains("x.jpg"));
        assert!(scene.keys().is_empty());
    }
}

#[tokio::test]
async fn a_bucket_that_refuses_the_function_is_left_alone_for_a_while() {
    let scene = Scene::new();
    scene.objects.fail_open(ObjectError::NotReady { code: "bucket_access_denied" });
    let message = job("x.jpg", &[40], &["webp"]);
    scene.deliver(&message).await;
    let visible_in = scene.bench.queue.last_visibility(&message.receipt_handle()).unwrap();
    assert!(visible_in >= Duration::from_secs(15 * 60), "{visible_in:?}");
}

#[tokio::test]
async fn a_body_that_breaks_off_is_read_again_later() {
    let scene = Scene::new();
    scene.upload("x.jpg", photo());
    scene.objects.fail_read(ObjectError::Unavailable { code: "bucket_connection_lost" });
    let message = job("x.jpg", &[40], &["webp"]);
    assert_eq!(scene.deliver(&message).await.failed, ["image-1"]);
    assert_eq!(scene.ending(&message).0, Status::RetryScheduled);
    scene.bench.clock.advance(Duration::from_secs(3600));
    assert!(scene.deliver(&message.clone().received(2)).await.failed.is_empty());
}

#[tokio::test]
async fn bad_originals_are_dead_with_distinct_reasons_and_leave_the_others_alone() {
    let svg = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>".to_vec();
    let heic = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic".to_vec();
    for (bytes, code) in [
        (fixture("zero.jpg"), "original_empty"),
        (fixture("not_image.jpg"), "not_an_image"),
        (fixture("truncated.jpg"), "image_truncated"),
        (svg, "svg_refused"),
        (heic, "image_unsupported"),
    ] {
        let scene = Scene::new();
        scene.upload("bad.jpg", bytes);
        scene.upload("good.jpg", photo());
        let bad = job("bad.jpg", &[40], &["webp"]);
        let payload = json!({"assetId": "good.jpg", "sizes": [40], "formats": ["webp"]});
        let good = testing::MessageBuilder::job("good", "image.resize", "good", payload).queue("image");
        let run = scene.bench.run_batch([bad.build(), good.build()]).await.unwrap();
        assert_eq!(run.failed, ["image-1"]);
        assert_eq!(scene.ending(&bad), (Status::Dead, Some((ErrorClass::Permanent, code.to_owned()))));
        assert_eq!(scene.keys(), ["derived/good.jpg/40.webp"]);
    }
}

#[tokio::test]
async fn an_original_that_the_function_cannot_hold_is_dead_and_named() {
    let capacity = Capacity { cpus: 1, originals_bytes: 2048, pictures_bytes: 64 * 1024 };
    let scene = Scene::with_capacity(&[], testing::settings(), Some(capacity));
    scene.upload("long.jpg", vec![0xff; 4096]);
    let long = job("long.jpg", &[40], &["webp"]);
    scene.deliver(&long).await;
    assert_eq!(scene.ending(&long), (Status::Dead, Some((ErrorClass::Permanent, "original_too_large".to_owned()))));

    let scene = Scene::with_capacity(&[], testing::settings(), Some(Capacity { originals_bytes: 1 << 20, ..capacity }));
    scene.upload("wide.jpg", file(waves(900, 700), FileFormat::Jpeg));
    let wide = job("wide.jpg", &[700], &["webp"]);
    scene.deliver(&wide).await;
    let error = scene.record(&wide).last_error.unwrap();
    assert_eq!(error.code, "image_too_large");
    assert!(error.message.contains("give the function more memory"), "{}", error.message);
}

#[tokio::test]
async fn an_upload_is_worked_on_by_the_rule_and_is_the_same_job_however_often_it_is_told() {
    let scene = Scene::new();
    scene.objects.add_version("assets", "uploads/a b/ü.jpg", "v7", photo());
    let told = notification("assets", "uploads/a+b/%C3%BC.jpg", Some("v7"), 100);
    assert!(scene.deliver(&told).await.failed.is_empty());
    let expected = ["256.jpg", "256.webp", "720.jpg", "720.webp"].map(|name| format!("derived/a b/ü.jpg/{name}"));
    assert_eq!(scene.keys(), expected);
    assert!(scene.deliver(&told.clone().message_id("again")).await.failed.is_empty());
    assert_eq!(scene.only_record().status, Status::Succeeded);
    let opened = scene.objects.calls().into_iter().filter(|call| matches!(call, ObjectCall::Open(..)));
    assert_eq!(opened.count(), 1);
}

#[tokio::test]
async fn its_own_outputs_and_foreign_keys_never_make_work() {
    for key in ["derived/x.jpg/256.webp", "logs/2031.txt", "uploads/"] {
        let scene = Scene::new();
        assert!(scene.deliver(&notification("assets", key, None, 5)).await.failed.is_empty(), "{key}");
        assert!(scene.objects.calls().is_empty() && scene.bench.records.all().is_empty());
    }
    let scene = Scene::new();
    assert_eq!(scene.deliver(&notification("another-bucket", "uploads/x.jpg", None, 5)).await.failed, ["image-1"]);
    assert_eq!(scene.only_record().last_error.unwrap().code, "bucket_not_expected");
    assert!(scene.objects.calls().is_empty());
}

#[tokio::test]
async fn a_batch_shares_the_memory_and_all_of_it_gets_done() {
    // Room for one original and one picture at a time.
    let original = file(waves(300, 200), FileFormat::Png);
    let capacity = Capacity { cpus: 2, originals_bytes: original.len() as u64 + 1024, pictures_bytes: 16 << 20 };
    let scene = Scene::with_capacity(&[], testing::settings(), Some(capacity));
    let messages: Vec<_> = (0..10)
        .map(|number| {
            let asset = format!("{number}.png");
            scene.upload(&asset, original.clone());
            let payload = json!({"assetId": asset, "sizes": [100], "formats": ["jpeg"]});
            testing::MessageBuilder::job(&asset, "image.resize", &asset, payload).queue("image")
        })
        .collect();
    let run = scene.bench.run_batch(messages.iter().map(testing::MessageBuilder::build)).await.unwrap();
    assert_eq!(run.failed, [""; 0]);
    assert_eq!(scene.keys().len(), 10);
}
