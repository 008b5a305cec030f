//! Stripe's REST API, and what is compatible with it: PaymentIntents (<https://docs.stripe.com/api/payment_intents>).

mod amount;
mod answer;
mod api_url;
mod customer;
mod listing;
mod payment_intent;
mod transport;

use std::time::Duration;

use async_trait::async_trait;
use http::{HeaderMap, HeaderValue, Method, Request, header};
use ikkai::job::ReferenceId;
use tokio::time::{Instant, timeout_at};
use url::{Url, form_urlencoded};

pub use self::api_url::{ApiUrl, ApiUrlError};
use self::{
    answer::Answer,
    transport::{Transport, TransportError},
};
use super::{ChargeRequest, GatewayError, Payment, PaymentGateway, PaymentMethodId};
use crate::{
    api_key::{ApiKey, ApiKeyError, ApiKeyRing},
    order::ChargeOrder,
};

/// The version of the API that answers are read by, whatever the account's own is
/// (<https://docs.stripe.com/api/versioning>).
const API_VERSION: HeaderValue = HeaderValue::from_static("2024-06-20");

/// The metadata by which a payment is found again.
const JOB_METADATA: &str = "ikkai_job_id";

/// Charges through Stripe with one request a charge.
#[derive(Debug)]
pub struct StripeGateway {
    url: ApiUrl,
    keys: ApiKeyRing,
    transport: Transport,
    timeout: Duration,
}

/// A request without its API key.
struct Call {
    method: Method,
    url: Url,
    idempotency_key: Option<HeaderValue>,
    form: String,
}

impl StripeGateway {
    /// A gateway to the API at this URL. `timeout` is how long the answer to one question may take, with everything that has to be asked for it.
    #[must_use]
    pub fn new(url: ApiUrl, keys: ApiKeyRing, timeout: Duration) -> Self {
        let transport = Transport::new(url.is_encrypted(), timeout);
        Self { url, keys, transport, timeout }
    }

    /// When an answer that is asked for now is waited for no longer.
    fn answer_due(&self) -> Instant {
        Instant::now() + self.timeout
    }

    /// Sends a call. A key that is not accepted is fetched anew, once, within the same time.
    async fn send(&self, call: &Call, due: Instant) -> Result<Answer, CallError> {
        let key = match timeout_at(due, self.keys.current()).await {
            Ok(Ok(key)) => key,
            Ok(Err(ApiKeyError::Unreachable { .. })) | Err(_) => return Err(CallError::KeyUnreachable),
            Ok(Err(_)) => return Err(CallError::NoKey),
        };
        let answer = self.transport.send(call.with(&key)?, due).await?;
        if answer.status != 401 {
            return Ok(answer);
        }
        match timeout_at(due, self.keys.renewed(&key)).await {
            Ok(Some(newer)) => Ok(self.transport.send(call.with(&newer)?, due).await?),
            Ok(None) | Err(_) => Ok(answer),
        }
    }

    /// Reads something. Nothing is charged by it, whatever comes back.
    async fn get(&self, url: Url, due: Instant) -> Result<Answer, GatewayError> {
        let call = Call { method: Method::GET, url, idempotency_key: None, form: String::new() };
        let answer = self.send(&call, due).await.map_err(|error| match error {
            CallError::NoKey => GatewayError::NotReady { code: "api_key_missing" },
            CallError::KeyUnreachable => GatewayError::Unreachable { code: "api_key_unreachable" },
            CallError::Request => GatewayError::Unavailable { code: "request_not_built" },
            CallError::Transport(TransportError::NotSent(code)) => GatewayError::Unreachable { code },
            CallError::Transport(TransportError::Lost(code)) => GatewayError::Unavailable { code },
        })?;
        answer.of_reading()
    }
}

#[async_trait]
impl PaymentGateway for StripeGateway {
    async fn payment_method(&self, customer_id: &ReferenceId) -> Result<PaymentMethodId, GatewayError> {
        let due = self.answer_due();
        let answer = self.get(self.url.at(&["v1", "customers", customer_id.as_str()]), due).await?;
        match customer::default_method(&answer)? {
            Some(method) => Ok(method),
            None => {
                let mut url = self.url.at(&["v1", "payment_methods"]);
                url.query_pairs_mut()
                    .append_pair("customer", customer_id.as_str())
                    .append_pair("type", "card")
                    .append_pair("limit", "2");
                customer::only_method(&self.get(url, due).await?)
            }
        }
    }

    async fn charge(&self, request: &ChargeRequest<'_>) -> Result<Payment, GatewayError> {
        let amount = amount::charged(request.order.money)?;
        let idempotency_key = HeaderValue::from_str(request.key.as_str()).map_err(|_| CallError::Request);
        let call = Call {
            method: Method::POST,
            url: self.url.at(&["v1", "payment_intents"]),
            idempotency_key: Some(idempotency_key?),
            form: form(request, amount),
        };
        let answer = self.send(&call, self.answer_due()).await?;
        payment_intent::charged(&answer, request.order, amount)
    }

    async fn find(&self, order: &ChargeOrder, has_time: &(dyn Fn() -> bool + Sync)) -> Result<Option<Payment>, GatewayError> {
        let amount = amount::charged(order.money)?;
        let mut search = listing::Search::new(order, amount);
        loop {
            let url = search.page(self.url.at(&["v1", "payment_intents"]))?;
            if !has_time() {
                return Err(GatewayError::Unlisted { code: "lookup_out_of_time" });
            }
            if search.read(&self.get(url, self.answer_due()).await?)? {
                return search.found();
            }
        }
    }
}

/// The parameters of a charge, in a fixed order. Nothing in them changes from attempt to attempt: a provider that remembers the key
/// refuses other parameters under it.
fn form(request: &ChargeRequest<'_>, amount: u64) -> String {
    let ChargeRequest { order, method, .. } = request;
    form_urlencoded::Serializer::new(String::new())
        .append_pair("amount", &amount.to_string())
        .append_pair("confirm", "true")
        .append_pair("currency", &order.money.currency().code().to_ascii_lowercase())
        .append_pair("customer", order.customer_id.as_str())
        .append_pair(&format!("metadata[{JOB_METADATA}]"), order.job_id.as_str())
        .append_pair("metadata[invoice_id]", order.invoice_id.as_str())
        .append_pair("off_session", "true")
        .append_pair("payment_method", &method.0)
        .finish()
}

impl Call {
    fn with(&self, key: &ApiKey) -> Result<Request<String>, CallError> {
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, key.bearer());
        headers.insert("stripe-version", API_VERSION);
        if let Some(key) = &self.idempotency_key {
            headers.insert("idempotency-key", key.clone());
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        }
        let mut request = Request::builder().method(self.method.clone()).uri(self.url.as_str());
        if let Some(fields) = request.headers_mut() {
            *fields = headers;
        }
        request.body(self.form.clone()).map_err(|_| CallError::Request)
    }
}

/// Why a call brought no answer.
enum CallError {
    /// There is no API key to call with.
    NoKey,
    /// There may be one, but who keeps it does not answer.
    KeyUnreachable,
    /// The request could not be made.
    Request,
    /// It did not get through, or its answer did not.
    Transport(TransportError),
}

impl From<TransportError> for CallError {
    fn from(error: TransportError) -> Self {
        Self::Transport(error)
    }
}

/// What it means for a charge.
impl From<CallError> for GatewayError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::NoKey => Self::NotReady { code: "api_key_missing" },
            CallError::KeyUnreachable => Self::Unreachable { code: "api_key_unreachable" },
            CallError::Request => Self::Unavailable { code: "request_not_built" },
            CallError::Transport(TransportError::NotSent(code)) => Self::Unreachable { code },
            CallError::Transport(TransportError::Lost(code)) => Self::Unknown { code },
        }
    }
}

#[cfg(test)]
mod tests {
    use ikkai::job::{Amount, Currency, IdempotencyKey, JobId, JobType, Money};

    use super::*;
    use crate::key_window::ProviderKey;

    #[test]
    fn the_parameters_are_byte_equal_for_equal_charges_and_carry_no_attempt() {
        let money = Money::new(&Amount::parse("19.99").unwrap(), Currency::parse("EUR").unwrap()).unwrap();
        let job_id = JobId::derive("caller", &JobType::parse("billing.charge").unwrap(), &IdempotencyKey::parse("k").unwrap());
        let id = |text| ReferenceId::parse(text).unwrap();
        let order = ChargeOrder { job_id: job_id.clone(), invoice_id: id("inv/1"), customer_id: id("cus_1"), money };
        let (method, key) = (PaymentMethodId("pm_1".to_owned()), ProviderKey::of_window(&job_id, 0));
        let request = ChargeRequest { order: &order, method: &method, key: &key };
        let expected = format!(
            "amount=1999&confirm=true&currency=eur&customer=cus_1&metadata%5Bikkai_job_id%5D={}\
             &metadata%5Binvoice_id%5D=inv%2F1&off_session=true&payment_method=pm_1",
            job_id.as_str()
        );
        assert_eq!(form(&request, 1_999), expected);
        let later = ProviderKey::of_window(&job_id, 3);
        assert_eq!(form(&ChargeRequest { key: &later, ..request }, 1_999), expected);
    }
}
