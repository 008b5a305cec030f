//! The fault proxy between a real client and a real server.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::service::service_fn;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use ikkai_cli::local::proxy::{Ending, Proxy, Rule};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const MAIL: &str = "/v2/email/outbound-emails";

/// A server that remembers what reached it and answers with the same body.
struct Echo {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<(http::request::Parts, Bytes)>>>,
}

impl Echo {
    async fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen: Arc<Mutex<Vec<_>>> = Arc::default();
        let log = Arc::clone(&seen);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let log = Arc::clone(&log);
                let service = service_fn(move |request: Request<hyper::body::Incoming>| {
                    let log = Arc::clone(&log);
                    async move {
                        let (parts, body) = request.into_parts();
                        let body = body.collect().await.unwrap().to_bytes();
                        let answer = Response::builder().header("x-echo", "1").body(Full::new(body.clone())).unwrap();
                        log.lock().unwrap().push((parts, body));
                        Ok::<_, Infallible>(answer)
                    }
                });
                tokio::spawn(hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        Self { address, seen }
    }

    fn count(&self) -> usize {
        self.seen.lock().unwrap().len()
    }
}

async fn pair() -> (Echo, Proxy) {
    let echo = Echo::start().await;
    let proxy = Proxy::start(echo.address).await.unwrap();
    (echo, proxy)
}

fn http_client() -> Client<HttpConnector, Full<Bytes>> {
    Client::builder(TokioExecutor::new()).build_http()
}

fn mail_body(job: &str) -> Bytes {
    let mail = serde_json::json!({
        "Destination": {"ToAddresses": ["a@example.com"]},
        "EmailTags": [{"Name": "ikkai-job", "Value": job}],
    });
    Bytes::from(mail.to_string())
}

async fn send_mail(proxy: &Proxy, job: &str) -> Result<(u16, Bytes), hyper_util::client::legacy::Error> {
    let request = Request::post(format!("{}{MAIL}", proxy.url()))
        .header("content-type", "application/json")
        .body(Full::new(mail_body(job)))
        .unwrap();
    let answer = http_client().request(request).await?;
    Ok((answer.status().as_u16(), answer.into_body().collect().await.unwrap().to_bytes()))
}

#[tokio::test]
async fn bodies_paths_and_host_pass_byte_for_byte() {
    let (echo, proxy) = pair().await;
    let body: Bytes = (0..=255_u8).cycle().take(700_001).collect::<Vec<_>>().into();
    let request = Request::put(format!("{}/bucket/a%20b?x-id=PutObject&y", proxy.url()))
        .header("host", "bucket.s3.us-east-1.amazonaws.com")
        .header("x-amz-meta-a", "1")
        .body(Full::new(body.clone()))
        .unwrap();
    let answer = http_client().request(request).await.unwrap();
    assert_eq!(answer.headers()["x-echo"], "1");
    assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), body);

    let seen = echo.seen.lock().unwrap();
    let (parts, arrived) = &seen[0];
    assert_eq!(arrived, &body);
    assert_eq!(parts.uri.to_string(), "/bucket/a%20b?x-id=PutObject&y");
    assert_eq!(parts.headers["host"], "bucket.s3.us-east-1.amazonaws.com");
    assert_eq!(parts.headers["x-amz-meta-a"], "1");
}

#[tokio::test]
async fn a_chunked_body_arrives_whole() {
    let (echo, proxy) = pair().await;
    let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
    let request =
        "POST /x HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("abcde"), "{answer}");
    let seen = echo.seen.lock().unwrap();
    assert_eq!(seen[0].1, "abcde");
    assert_eq!(seen[0].0.headers["content-length"], "5");
}

#[tokio::test]
async fn connections_are_kept_alive_and_counted() {
    let (_echo, proxy) = pair().await;
    let client = http_client();
    for _ in 0..3 {
        let request = Request::post(format!("{}{MAIL}", proxy.url())).body(Full::new(mail_body("j"))).unwrap();
        client.request(request).await.unwrap().into_body().collect().await.unwrap();
    }
    let calls = proxy.calls();
    assert_eq!((calls.connections, calls.count("ses.SendEmail")), (1, 3));
    assert_eq!(calls.totals["ses.SendEmail"].request_bytes, 3 * mail_body("j").len() as u64);
    assert_eq!(calls.totals["ses.SendEmail"].response_bytes, 3 * mail_body("j").len() as u64);
}

#[tokio::test]
async fn an_answer_in_the_services_place_never_reaches_the_engine() {
    let (echo, proxy) = pair().await;
    let rule = proxy.add(Rule::on("ses.SendEmail").job("j1").answer(429, "TooManyRequestsException", "slow down").times(1));
    let (status, body) = send_mail(&proxy, "j1").await.unwrap();
    assert_eq!(status, 429);
    let error: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((error["__type"].as_str(), error["message"].as_str()), (Some("TooManyRequestsException"), Some("slow down")));
    assert_eq!((echo.count(), proxy.effects_of("j1")), (0, 0));
    assert_eq!(proxy.calls().calls[0].ending, Ending::Refused(429));

    assert_eq!(send_mail(&proxy, "j1").await.unwrap().0, 200, "the rule was for one call");
    assert_eq!((echo.count(), proxy.effects_of("j1"), rule.hits()), (1, 1, 1));
}

#[tokio::test]
async fn a_lost_answer_is_an_effect_that_the_sender_does_not_know_of() {
    let (echo, proxy) = pair().await;
    proxy.add(Rule::on("ses.SendEmail").forward_then_drop());
    assert!(send_mail(&proxy, "j1").await.is_err());
    assert_eq!((echo.count(), proxy.effects_of("j1"), proxy.mails_to("a@example.com")), (1, 1, 1));
    assert_eq!(proxy.calls().calls[0].ending, Ending::AnswerLost(200));
}

#[tokio::test]
async fn a_dropped_call_is_no_effect() {
    let (echo, proxy) = pair().await;
    proxy.add(Rule::on("ses.SendEmail").drop_connection());
    assert!(send_mail(&proxy, "j1").await.is_err());
    assert_eq!((echo.count(), proxy.effects_of("j1")), (0, 0));
    assert_eq!(proxy.calls().calls[0].ending, Ending::Dropped);
}

#[tokio::test]
async fn delays_come_before_or_after_the_effect() {
    let (_echo, proxy) = pair().await;
    let time = Duration::from_millis(60);
    let before = proxy.add(Rule::on("ses.SendEmail").job("before").delay(time));
    let after = proxy.add(Rule::on("ses.SendEmail").job("after").forward_then_delay(time));
    for (job, rule) in [("before", &before), ("after", &after)] {
        let started = Instant::now();
        assert_eq!(send_mail(&proxy, job).await.unwrap().0, 200);
        assert!(started.elapsed() >= time, "{job}");
        assert_eq!((rule.hits(), proxy.effects_of(job)), (1, 1));
    }
}

#[tokio::test]
async fn a_held_call_is_forwarded_once_it_is_released() {
    let (echo, proxy) = pair().await;
    let rule = proxy.add(Rule::on("ses.SendEmail").hold());
    let sending = async { send_mail(&proxy, "j1").await.unwrap().0 };
    let releasing = async {
        rule.arrived().await;
        assert_eq!((echo.count(), proxy.effects_of("j1")), (0, 0));
        rule.release();
    };
    let (status, ()) = tokio::join!(sending, releasing);
    assert_eq!((status, echo.count(), proxy.effects_of("j1")), (200, 1, 1));
}

/// Sends a mail over a connection of its own, as a worker does that is about to be killed.
async fn half_a_call(proxy: &Proxy, job: &str) -> TcpStream {
    let body = mail_body(job);
    let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
    let head = format!("POST {MAIL} HTTP/1.1\r\nhost: h\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all(&[head.as_bytes(), &body].concat()).await.unwrap();
    stream
}

#[tokio::test]
async fn a_worker_that_dies_while_its_call_is_held_has_no_effect() {
    let (echo, proxy) = pair().await;
    let rule = proxy.add(Rule::on("ses.SendEmail").hold().times(1));
    let worker = half_a_call(&proxy, "j1").await;
    rule.arrived().await;
    drop(worker);
    let calls = proxy.until(|calls| calls.calls[0].ending != Ending::Open).await;
    assert_eq!(calls.calls[0].ending, Ending::Abandoned);
    rule.release();
    assert_eq!(send_mail(&proxy, "j2").await.unwrap().0, 200);
    assert_eq!((echo.count(), proxy.effects_of("j1")), (1, 0));
}

#[tokio::test]
async fn a_worker_that_dies_while_its_answer_is_held_leaves_an_effect() {
    let (echo, proxy) = pair().await;
    let rule = proxy.add(Rule::on("ses.SendEmail").forward_then_hold());
    let worker = half_a_call(&proxy, "j1").await;
    rule.arrived().await;
    proxy.until(|calls| calls.calls[0].ending == Ending::AnswerLost(200)).await;
    drop(worker);
    let calls = proxy.until(|calls| calls.calls[0].elapsed.is_some()).await;
    assert_eq!(calls.calls[0].ending, Ending::AnswerLost(200));
    assert_eq!((echo.count(), proxy.effects_of("j1")), (1, 1));
}

#[tokio::test]
async fn an_engine_that_is_gone_closes_the_connection_and_can_be_replaced() {
    let (echo, proxy) = pair().await;
    let nobody = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap().local_addr().unwrap();
    proxy.set_upstream(nobody);
    assert!(send_mail(&proxy, "j1").await.is_err());
    assert_eq!(proxy.calls().calls[0].ending, Ending::Unreachable);
    proxy.set_upstream(echo.address);
    assert_eq!(send_mail(&proxy, "j1").await.unwrap().0, 200);
}

#[tokio::test]
async fn clearing_the_rules_lets_held_calls_go() {
    let (_echo, proxy) = pair().await;
    let rule = proxy.add(Rule::on("ses.SendEmail").hold());
    let sending = async { send_mail(&proxy, "j1").await.unwrap().0 };
    let clearing = async {
        rule.arrived().await;
        proxy.clear_rules();
    };
    assert_eq!(tokio::join!(sending, clearing).0, 200);
    assert_eq!(send_mail(&proxy, "j2").await.unwrap().0, 200);
    assert_eq!(rule.hits(), 1);
}

#[tokio::test]
async fn the_proxy_stops_listening_when_it_is_dropped() {
    let (_echo, proxy) = pair().await;
    let address = proxy.address();
    proxy.add(Rule::on("ses.SendEmail").hold()).remove();
    drop(proxy);
    assert!(TcpStream::connect(address).await.is_err());
}

fn signed_for_s3() -> &'static str {
    "AWS4-HMAC-SHA256 Credential=test/20261129/us-east-1/s3/aws4_request, SignedHeaders=host"
}

#[tokio::test]
async fn an_object_of_tens_of_megabytes_passes_both_ways() {
    let (echo, proxy) = pair().await;
    let body: Bytes = (0..=255_u8).cycle().take(48 * 1024 * 1024 + 7).collect::<Vec<_>>().into();
    let request = Request::put(format!("{}/assets/uploads/large.jpg?x-id=PutObject", proxy.url()))
        .header("authorization", signed_for_s3())
        .body(Full::new(body.clone()))
        .unwrap();
    let answer = http_client().request(request).await.unwrap();
    assert!(answer.into_body().collect().await.unwrap().to_bytes() == body, "the answer is the body");
    assert!(echo.seen.lock().unwrap()[0].1 == body, "the body arrived as it was sent");
    let calls = proxy.calls();
    assert_eq!(calls.totals["s3.PutObject"].request_bytes, body.len() as u64);
    assert_eq!(calls.calls[0].object.as_deref(), Some("uploads/large.jpg"));
}

#[tokio::test]
async fn a_fault_of_s3_is_for_one_object_and_speaks_xml() {
    let (echo, proxy) = pair().await;
    proxy.add(Rule::on("s3.PutObject").target("assets").object("derived/a b.jpg/256.webp").answer(
        503,
        "SlowDown",
        "reduce <rate>",
    ));
    let put = async |key: &str| {
        let request = Request::put(format!("{}/assets/{key}", proxy.url()))
            .header("authorization", signed_for_s3())
            .body(Full::new(Bytes::from_static(b"x")))
            .unwrap();
        let answer = http_client().request(request).await.unwrap();
        let status = answer.status().as_u16();
        (status, String::from_utf8(answer.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap())
    };
    let (status, error) = put("derived/a%20b.jpg/256.webp").await;
    assert_eq!((status, error.as_str()), (503, "<Error><Code>SlowDown</Code><Message>reduce &lt;rate&gt;</Message></Error>"));
    assert_eq!(put("derived/a%20b.jpg/720.webp").await.0, 200);
    assert_eq!(echo.count(), 1);
}

/// Posts a charge, as to a payment provider.
async fn charge(client: &Client<HttpConnector, Full<Bytes>>, proxy: &Proxy, job: &str) -> Result<(u16, Bytes), ()> {
    let request = Request::post(format!("{}/v1/payment_intents", proxy.url()))
        .header("authorization", "Bearer sk_test_12345")
        .header("idempotency-key", job)
        .body(Full::new(Bytes::from_static(b"amount=1999")))
        .unwrap();
    let answer = client.request(request).await.map_err(drop)?;
    Ok((answer.status().as_u16(), answer.into_body().collect().await.map_err(drop)?.to_bytes()))
}

#[tokio::test]
async fn a_provider_that_is_not_aws_fails_in_its_own_words_or_after_it_was_asked() {
    let (echo, proxy) = pair().await;
    let operation = "http.POST /v1/payment_intents";
    proxy.add(Rule::on(operation).job("j1").answer(500, "api_error", "try again").times(1));
    proxy.add(Rule::on(operation).job("j1").forward_then_drop().times(1));
    let client = http_client();
    let (status, body) = charge(&client, &proxy, "j1").await.unwrap();
    assert_eq!((status, body), (500, Bytes::from(r#"{"error":{"message":"try again","type":"api_error"}}"#)));
    assert_eq!(echo.count(), 0);
    assert!(charge(&client, &proxy, "j1").await.is_err(), "the answer is lost");
    assert_eq!(echo.count(), 1);
    let calls = proxy.calls();
    assert_eq!(calls.about("j1").map(|call| call.ending).collect::<Vec<_>>(), [Ending::Refused(500), Ending::AnswerLost(200)]);
}

#[tokio::test]
async fn a_shut_door_refuses_connections_closes_open_ones_and_opens_at_the_same_address() {
    let (echo, proxy) = pair().await;
    let client = http_client();
    charge(&client, &proxy, "j1").await.unwrap();
    let mut idle = TcpStream::connect(proxy.address()).await.unwrap();
    proxy.until(|calls| calls.connections == 2).await;

    proxy.refuse_connections().await;
    let refused = TcpStream::connect(proxy.address()).await.unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
    assert_eq!(idle.read(&mut [0; 1]).await.unwrap_or(0), 0, "an open connection is closed");
    assert!(charge(&client, &proxy, "j2").await.is_err());
    assert_eq!(echo.count(), 1);

    proxy.accept_connections().await;
    charge(&client, &proxy, "j3").await.unwrap();
    assert_eq!(echo.count(), 2);
}
