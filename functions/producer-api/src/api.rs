//! The whole API, without Lambda around it and AWS behind it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ikkai::clock::Clock;
use ikkai::idempotency::{JobStore, Ledger};
use ikkai::observability::{Metric, Metrics, NO_JOB_TYPE, TraceHeader};
use serde_json::Value;

use crate::accept::Acceptor;
use crate::batch;
use crate::caller::{Caller, Unidentified};
use crate::catalog::Catalog;
use crate::event::{EventError, Headers, Request};
use crate::idempotency_header;
use crate::jobs;
use crate::policy::Asked;
use crate::prepared::Prepared;
use crate::problem::{Code, Problem};
use crate::recent_sends::RecentSends;
use crate::request_body;
use crate::response::{Response, SERVER_ERROR};
use crate::router::{Resource, method_label};
use crate::settings::Settings;

/// The producer API.
#[derive(Debug)]
pub struct Api {
    settings: Settings,
    catalog: Catalog,
    acceptor: Acceptor,
}

/// What Lambda says about one invocation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Call {
    /// Lambda's request id.
    pub request_id: String,
    /// The X-Ray header of the invocation.
    pub trace: Option<String>,
    /// Time until the function has to answer; `None` where the runtime gives no usable deadline.
    pub budget: Option<Duration>,
}

impl Api {
    /// An API over these services.
    #[must_use]
    pub fn new(settings: Settings, catalog: Catalog, store: Arc<dyn JobStore>, clock: Arc<dyn Clock>, metrics: Metrics) -> Self {
        let ledger = Ledger::new(store, clock);
        let acceptor = Acceptor { ledger, send_lease: settings.send_lease, metrics, recent_sends: RecentSends::default() };
        Self { settings, catalog, acceptor }
    }

    /// Answers one event and writes its log line.
    ///
    /// # Errors
    /// Only when the event is no HTTP request at all.
    pub async fn handle(&self, event: &Value, call: &Call) -> Result<Response, EventError> {
        let started = Instant::now();
        let request = Request::from_event(event)?;
        let resource = Resource::of_path(&request.path);
        let answer = self.answer(&request, resource.as_ref(), call);
        let answer = match call.budget {
            None => answer.await,
            Some(budget) => tokio::time::timeout(budget, answer).await.unwrap_or_else(|_| Err(out_of_time())),
        };
        let mut answer = self.settings.cors.decorate(&request.headers, answer.unwrap_or_else(Response::from));
        if request.method == "HEAD" {
            answer.body.clear();
        }
        if answer.is_failure() {
            self.acceptor.metrics.count(Metric::RequestsFailed, NO_JOB_TYPE, 1);
        }
        log(&request, resource.as_ref(), &answer, call, started.elapsed());
        Ok(answer)
    }

    async fn answer(&self, request: &Request, resource: Option<&Resource>, call: &Call) -> Result<Response, Problem> {
        let resource = resource.ok_or_else(|| Problem::new(Code::NotFound, "the paths of this API begin with /v1/jobs"))?;
        match (request.method.as_str(), resource) {
            ("OPTIONS", resource) => Ok(self.settings.cors.options(&request.headers, resource.allow())),
            ("POST", Resource::Jobs) => self.post(request, call).await,
            ("POST", Resource::Batch) => self.post_batch(request, call).await,
            ("GET" | "HEAD", Resource::Job(id)) => jobs::show(&self.acceptor.ledger, &self.caller(request)?, id).await,
            ("DELETE", Resource::Job(id)) => {
                jobs::cancel(&self.acceptor.ledger, &self.caller(request)?, id, self.settings.record_retention).await
            }
            (_, resource) => {
                let problem = Problem::new(Code::MethodNotAllowed, format!("this path takes {}", resource.allow()));
                Ok(Response::from(problem).header("allow", resource.allow()))
            }
        }
    }

    async fn post(&self, request: &Request, call: &Call) -> Result<Response, Problem> {
        let caller = self.caller(request)?;
        accepts_json(&request.headers)?;
        let key = idempotency_header::read(&request.headers)?;
        let body = request_body::json(&request.body)?;
        let draft = request_body::draft(&body, key, self.terms())?;
        let job = self.prepare(draft, &caller, trace_of(request, call).as_ref())?;
        let job_id = job.job_id().clone();
        Ok(self.acceptor.accept(job).await.map_or_else(Response::from, Response::from).about(&job_id))
    }

    async fn post_batch(&self, request: &Request, call: &Call) -> Result<Response, Problem> {
        let caller = self.caller(request)?;
        accepts_json(&request.headers)?;
        if idempotency_header::read(&request.headers)?.is_some() {
            let detail = "a batch takes no header idempotency-key; give each job its own idempotencyKey";
            return Err(idempotency_header::invalid(detail));
        }
        let trace = trace_of(request, call);
        let body = request_body::json(&request.body)?;
        let drafts = request_body::batch(&body)?.into_iter().enumerate().map(|(place, job)| {
            request_body::draft(&job, None, self.terms())
                .and_then(|draft| self.prepare(draft, &caller, trace.as_ref()))
                .map_err(|problem| problem.under(&format!("/jobs/{place}")))
        });
        Ok(batch::response(&batch::accept_all(&self.acceptor, drafts.collect()).await))
    }

    fn terms(&self) -> request_body::Terms<'_> {
        let now = self.acceptor.ledger.now();
        request_body::Terms { catalog: &self.catalog, callbacks: self.settings.callbacks, now }
    }

    /// Policy before content: who may not post learns nothing about what is wrong with the payload.
    fn prepare(&self, draft: request_body::Draft, caller: &Caller, trace: Option<&TraceHeader>) -> Result<Prepared, Problem> {
        let asked =
            Asked { job_type: draft.served.job_type.as_str(), account_id: draft.account_id.as_deref(), payload: &draft.payload };
        let granted = self.settings.policy.ask(caller, asked).map_err(|denied| {
            Problem::new(Code::NotPermitted, format!("the API's caller policy does not let this caller post {denied}"))
        })?;
        let default_callback = granted.callback_url.clone();
        Prepared::new(draft, caller, default_callback, trace, self.settings.max_message_bytes, self.acceptor.ledger.now())
    }

    fn caller(&self, request: &Request) -> Result<Caller, Problem> {
        let caller = Caller::identify(&request.identity, &self.settings.jwt_caller_claim);
        #[cfg(feature = "local-identity")]
        let caller = match caller {
            Err(Unidentified::Nobody) => Caller::identify_locally(&request.headers).ok_or(Unidentified::Nobody),
            known => known,
        };
        caller.map_err(|error: Unidentified| Problem::new(Code::Unauthenticated, error.to_string()))
    }
}

/// The trace of the invocation, else the one that the client sent. In concurrent mode Lambda sets no environment variable for it.
fn trace_of(request: &Request, call: &Call) -> Option<TraceHeader> {
    let of_invocation = call.trace.as_deref().and_then(TraceHeader::parse);
    of_invocation.or_else(|| request.headers.first("x-amzn-trace-id").and_then(TraceHeader::parse))
}

/// Bodies are `application/json` or another JSON type, in UTF-8, not compressed.
fn accepts_json(headers: &Headers) -> Result<(), Problem> {
    let unsupported = |detail: &str| Err(Problem::new(Code::UnsupportedMediaType, detail));
    // Two of them: whatever stands in front of the API may have looked at the other one.
    let content_type = match headers.all("content-type") {
        [] => return unsupported("send the header content-type: application/json"),
        [only] => only,
        _ => return unsupported("send the header content-type once"),
    };
    let content_type = content_type.to_ascii_lowercase();
    let mut parts = content_type.split(';').map(str::trim);
    let media_type = parts.next().unwrap_or_default();
    let is_one = !media_type.contains(',');
    let is_json = media_type == "application/json" || (media_type.starts_with("application/") && media_type.ends_with("+json"));
    let is_utf8 = parts.all(|part| part.strip_prefix("charset=").is_none_or(|charset| charset.trim_matches('"') == "utf-8"));
    if !is_json || !is_one || !is_utf8 {
        return unsupported("send the body as application/json in UTF-8, with the header content-type: application/json");
    }
    if headers.all("content-encoding").iter().all(|coding| matches!(coding.trim(), "" | "identity")) {
        return Ok(());
    }
    unsupported("send the body without content-encoding")
}

fn out_of_time() -> Problem {
    Problem::new(Code::OutOfTime, "repeat the request; a repeated post with the same key becomes the same job")
        .retry_after(Duration::from_secs(1))
}

/// One line a request. Paths, callers, keys and bodies are the client's text and stay out.
fn log(request: &Request, resource: Option<&Resource>, answer: &Response, call: &Call, duration: Duration) {
    macro_rules! line {
        ($level:ident) => {
            tracing::$level!(
                request_id = call.request_id,
                method = method_label(&request.method),
                route = resource.map_or("unknown", Resource::template),
                status = answer.status_code,
                error_code = answer.notes.code.map(Code::name),
                job_id = answer.notes.job_id.as_ref().map(tracing::field::display),
                job_type = answer.notes.job_type.as_ref().map(tracing::field::display),
                jobs = answer.notes.jobs,
                jobs_accepted = answer.notes.jobs_accepted,
                duration_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
                "request answered"
            )
        };
    }
    if answer.status_code >= SERVER_ERROR { line!(warn) } else { line!(info) }
}
