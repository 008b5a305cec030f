//! The bucket that a stack's code is in, against a stub of S3.

use ikkai::testing::{HttpReply, HttpRequest, HttpStub};
use ikkai_cli::deploying::account::Account;
use ikkai_cli::deploying::code_bucket::CodeBucket;
use ikkai_cli::local::aws::sdk_config;

/// S3 with the stack's code bucket, or without it; of the settings that are asked for those named are there.
async fn s3(has_bucket: bool, has: &'static [&'static str]) -> HttpStub {
    HttpStub::start(move |request, _| {
        let (method, what) = told(request);
        let is_there = match (method.as_str(), what.as_str()) {
            ("HEAD", _) => has_bucket,
            ("GET", setting) => has.contains(&setting),
            _ => true,
        };
        let empty = match what.as_str() {
            "encryption" => "<ServerSideEncryptionConfiguration/>",
            "lifecycle" => "<LifecycleConfiguration/>",
            "policy" => "{}",
            _ => "",
        };
        match is_there {
            true => HttpReply::new(200, empty),
            false => HttpReply::new(404, "<Error><Code>NotThere</Code><Message>it is not there</Message></Error>"),
        }
    })
    .await
}

/// The method of a request and the setting that it is about.
fn told(request: &HttpRequest) -> (String, String) {
    let mut words = request.line().split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let setting = target.split_once('?').map_or("", |(_, query)| query);
    (method.to_owned(), setting.split(['=', '&']).next().unwrap_or_default().to_owned())
}

async fn ensured(stub: &HttpStub) -> (CodeBucket, Vec<String>) {
    let account = Account { id: "123456789012".to_owned(), region: "us-east-1".to_owned(), is_local: true };
    let config = sdk_config(stub.address());
    let bucket = CodeBucket::ensure(&config, "shop", &account).await.expect("a bucket");
    let requests = stub.requests();
    let calls = requests.iter().map(|request| {
        let (method, setting) = told(request);
        assert!(request.line().contains("/shop-code-123456789012-us-east-1"), "{}", request.line());
        let is_owned = request.header("x-amz-expected-bucket-owner") == Some("123456789012");
        assert!(is_owned || (method == "PUT" && setting.is_empty()), "{} names no owner", request.line());
        format!("{method} {setting}").trim().to_owned()
    });
    (bucket, calls.collect())
}

/// What every deployment puts, and what it looks at.
const ALWAYS: [&str; 5] = ["PUT publicAccessBlock", "PUT versioning", "GET encryption", "GET lifecycle", "GET policy"];

#[tokio::test]
async fn a_bucket_that_an_interrupted_deployment_left_bare_gets_its_settings_from_the_next_one() {
    let stub = s3(true, &[]).await;
    let (bucket, calls) = ensured(&stub).await;
    assert_eq!(bucket.name(), "shop-code-123456789012-us-east-1");
    let wanted = [
        "HEAD",
        "PUT publicAccessBlock",
        "PUT versioning",
        "GET encryption",
        "PUT encryption",
        "GET lifecycle",
        "PUT lifecycle",
        "GET policy",
        "PUT policy",
    ];
    assert_eq!(calls, wanted);
    let policy = stub.requests().last().expect("a policy").json();
    assert_eq!(policy["Statement"][0]["Sid"], "TlsOnly");
}

#[tokio::test]
async fn a_new_bucket_is_made_and_gets_the_same() {
    let (_, calls) = ensured(&s3(false, &[]).await).await;
    assert_eq!(calls[..3], ["HEAD", "PUT", "PUT publicAccessBlock"]);
    assert_eq!(calls.len(), 10);
}

#[tokio::test]
async fn a_key_a_lifecycle_and_a_policy_that_somebody_has_chosen_since_stay() {
    let (_, calls) = ensured(&s3(true, &["encryption", "lifecycle", "policy"]).await).await;
    assert_eq!(calls[0], "HEAD");
    assert_eq!(calls[1..], ALWAYS);
}
