//! The engine that all tests of this binary share, its roles, and calls in their names.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use aws_sdk_sqs::config::Credentials;
use bytes::Bytes;
use http::{Method, Request, header};
use ikkai_cli::local::build::{FUNCTIONS, Package};
use ikkai_cli::local::checkout::Checkout;
use ikkai_cli::local::engine::{Authorization, REGION};
use ikkai_cli::local::environment::{LocalAws, Options};
use ikkai_cli::local::loopback::Loopback;
use ikkai_cli::local::python::{Extras, environment};
use ikkai_cli::local::signed::sign_as;
use ikkai_cli::local::stack::Stack;
use ikkai_cli::progress::Progress;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::sync::OnceCell;

use crate::call::Call;

/// The engine's account.
pub(crate) const ACCOUNT: &str = "000000000000";

/// The inline policy of the roles that tests make.
const POLICY: &str = "probe";

/// The engine is told by this header that the client came over TLS.
const OVER_TLS: (&str, &str) = ("x-forwarded-proto", "https");

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime"));
static LAB: OnceCell<Lab> = OnceCell::const_new();
static NAMES: AtomicU32 = AtomicU32::new(0);

/// Runs a test on the shared engine.
pub(crate) fn on_engine(test: impl AsyncFnOnce(&Lab)) {
    RUNTIME.block_on(async { test(LAB.get_or_init(Lab::start).await).await });
}

/// An engine that enforces policies, with the stack on it.
pub(crate) struct Lab {
    aws: LocalAws,
    http: Loopback,
}

/// Somebody who may do what a policy says.
pub(crate) struct Principal {
    role: String,
    pub(crate) credentials: Credentials,
}

/// A door of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Door {
    FunctionUrl,
    HttpApi,
}

/// How a call comes to the engine.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Tls,
    Plain,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) text: String,
}

impl Answer {
    /// Whether a policy refused the call. Anything else that a service says, it says to somebody who may call it.
    pub(crate) fn is_refused(&self) -> bool {
        for broken in ["SignatureDoesNotMatch", "InvalidSignature", "UnrecognizedClient", "MissingAuthentication"] {
            assert!(!self.text.contains(broken), "the call was not made as it should be: {self:?}");
        }
        self.text.contains("AccessDenied")
    }
}

impl Lab {
    async fn start() -> Self {
        let checkout = Checkout::find().expect("a checkout");
        let python = environment(&checkout, Extras::None, &Progress::silent()).await.expect("a Python environment");
        let bootstrap = format!("#!{}\n{}", python.python().display(), include_str!("stand_in.py"));
        let file = std::env::temp_dir().join(format!("ikkai-stand-in-{}", std::process::id()));
        std::fs::write(&file, bootstrap).expect("a file");
        let packages = FUNCTIONS.map(|name| Package::of(name, &file).expect("a package"));
        drop(std::fs::remove_file(&file));
        let options = Options::new("tests-access").packages(packages.into()).parameter("Api", "both");
        let options = options.authorization(Authorization::Enforced);
        let aws = LocalAws::start(options).await.unwrap_or_else(|error| panic!("the local engine does not start: {error}"));
        Self { aws, http: Loopback::new(Duration::from_secs(30)) }
    }

    pub(crate) fn stack(&self) -> &Stack {
        self.aws.stack()
    }

    /// The HTTP API's id, as it stands in the names of its routes.
    pub(crate) fn http_api(&self) -> &str {
        &self.stack().outputs()["HttpApiId"]
    }

    /// The host by which the engine knows a door.
    fn host(&self, door: Door) -> String {
        match door {
            Door::FunctionUrl => {
                let url = &self.stack().outputs()["FunctionUrl"];
                url.trim_start_matches("https://").trim_end_matches('/').to_owned()
            }
            Door::HttpApi => format!("{}.execute-api.localhost", self.http_api()),
        }
    }

    /// A principal of its own, who may do nothing yet.
    pub(crate) async fn principal(&self) -> Principal {
        let role = format!("probe-{}", NAMES.fetch_add(1, Ordering::Relaxed));
        let trust = json!({"Version": "2012-10-17", "Statement": [
            {"Effect": "Allow", "Principal": {"AWS": format!("arn:aws:iam::{ACCOUNT}:root")}, "Action": "sts:AssumeRole"}]});
        self.ask("iam", "CreateRole", &[("RoleName", &role), ("AssumeRolePolicyDocument", &trust.to_string())]).await;
        let arn = format!("arn:aws:iam::{ACCOUNT}:role/{role}");
        let answer = self.ask("sts", "AssumeRole", &[("RoleArn", &arn), ("RoleSessionName", "probe")]).await;
        let part = |name: &str| element(&answer, name).unwrap_or_else(|| panic!("no {name} in {answer}"));
        let credentials =
            Credentials::new(part("AccessKeyId"), part("SecretAccessKey"), Some(part("SessionToken")), None, "probe");
        Principal { role, credentials }
    }

    /// From now on the principal may do what these statements say, and nothing else.
    pub(crate) async fn allow(&self, principal: &Principal, statements: &[Value]) {
        let document = json!({"Version": "2012-10-17", "Statement": statements}).to_string();
        let parameters = [("RoleName", principal.role.as_str()), ("PolicyName", POLICY), ("PolicyDocument", &document)];
        self.ask("iam", "PutRolePolicy", &parameters).await;
    }

    /// What the role of a function may do, as it was deployed.
    pub(crate) async fn statements_of(&self, function: &str) -> Vec<Value> {
        let path = format!("/2015-03-31/functions/{function}");
        let answer = self.send(Method::GET, "lambda", &path, &[], String::new(), Some(&root()), Transport::Tls).await;
        let configuration: Value = serde_json::from_str(&answer.text).expect("JSON");
        let role =
            configuration["Configuration"]["Role"].as_str().expect("a role").rsplit('/').next().expect("a name").to_owned();
        let policy = function.trim_start_matches("ikkai-");
        let answer = self.ask("iam", "GetRolePolicy", &[("RoleName", &role), ("PolicyName", policy)]).await;
        let document = percent_decoded(&element(&answer, "PolicyDocument").expect("a policy"));
        let document: Value = serde_json::from_str(&document).expect("JSON");
        document["Statement"].as_array().expect("statements").clone()
    }

    /// Makes a call in somebody's name.
    pub(crate) async fn call(&self, principal: &Principal, call: &Call, transport: Transport) -> Answer {
        let (headers, body) = (&call.headers, call.body.clone());
        self.send(call.method.clone(), call.service, &call.path, headers, body, Some(&principal.credentials), transport).await
    }

    /// Posts to a door of the API.
    pub(crate) async fn knock(&self, door: Door, credentials: Option<&Credentials>) -> Answer {
        let headers = [("host", self.host(door)), ("content-type", "application/json".to_owned())];
        let service = match door {
            Door::FunctionUrl => "lambda",
            Door::HttpApi => "execute-api",
        };
        self.send(Method::POST, service, "/v1/jobs", &headers, "{}".to_owned(), credentials, Transport::Tls).await
    }

    /// A call of an API that takes a form, as the account itself; it must succeed.
    async fn ask(&self, service: &'static str, action: &str, parameters: &[(&str, &str)]) -> String {
        let version = if service == "sts" { "2011-06-15" } else { "2010-05-08" };
        let pairs = [("Action", action), ("Version", version)].into_iter().chain(parameters.iter().copied());
        let body = pairs.map(|(name, value)| format!("{name}={}", percent_encoded(value))).collect::<Vec<_>>().join("&");
        let headers = [("content-type", "application/x-www-form-urlencoded".to_owned())];
        let answer = self.send(Method::POST, service, "/", &headers, body, Some(&root()), Transport::Tls).await;
        assert_eq!(answer.status, 200, "{action}: {}", answer.text);
        answer.text
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one HTTP request")]
    async fn send(
        &self,
        method: Method,
        service: &str,
        path: &str,
        headers: &[(&'static str, String)],
        body: String,
        credentials: Option<&Credentials>,
        transport: Transport,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        if !headers.iter().any(|(name, _)| *name == "host") {
            request = request.header(header::HOST, self.aws.address().to_string());
        }
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let mut request = request.body(Bytes::from(body)).expect("a request");
        if let Some(credentials) = credentials {
            sign_as(&mut request, service, REGION, credentials).expect("a signature");
        }
        if transport == Transport::Tls {
            request.headers_mut().insert(OVER_TLS.0, http::HeaderValue::from_static(OVER_TLS.1));
        }
        let answer = self.http.send(self.aws.address(), request).await.expect("an answer");
        Answer { status: answer.status().as_u16(), text: String::from_utf8_lossy(answer.body()).into_owned() }
    }
}

/// Whom no policy holds back.
fn root() -> Credentials {
    Credentials::new("test", "test", None, None, "root")
}

/// The text of the first element of this name.
fn element(xml: &str, name: &str) -> Option<String> {
    let (_, rest) = xml.split_once(&format!("<{name}>"))?;
    let text = rest.split_once(&format!("</{name}>"))?.0.trim();
    Some(text.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
}

fn percent_encoded(text: &str) -> String {
    let encoded = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    text.bytes().map(encoded).collect()
}

/// IAM gives policies percent-encoded.
fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let hexadecimal =
            tail.get(..2).and_then(|two| std::str::from_utf8(two).ok()).and_then(|two| u8::from_str_radix(two, 16).ok());
        match (first, hexadecimal) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).expect("UTF-8")
}
