//! What becomes of one `billing.charge` job.

use std::{sync::Arc, time::Duration};

use ikkai::{
    consumer::{Done, Failure, Handler, JobContext},
    idempotency::EffectPolicy,
    job::{BillingCharge, Job},
};
use serde_json::json;

use crate::{
    chosen_method::ChosenMethod,
    gateway::{ChargeRequest, GatewayError, Payment, PaymentGateway, PaymentMethodId, PaymentState},
    key_window::{KeyWindow, Phase, ProviderKey},
    order::ChargeOrder,
    settings::BillingSettings,
};

/// How long to leave a provider alone that does not accept the key: an operator has to act first.
const NOT_READY_DELAY: Duration = Duration::from_secs(5 * 60);

/// Charges what a `billing.charge` job asks for: one request under an idempotency key made of the job id, and a look at the provider
/// where the key alone cannot tell what became of an earlier one.
pub struct BillingHandler {
    gateway: Arc<dyn PaymentGateway>,
    window: KeyWindow,
    provider_timeout: Duration,
}

impl BillingHandler {
    /// A handler for this gateway; of the settings it keeps the key window and the provider's timeout.
    #[must_use]
    pub fn new(gateway: Arc<dyn PaymentGateway>, settings: &BillingSettings) -> Self {
        Self { gateway, window: settings.key_window, provider_timeout: settings.provider_timeout }
    }
}

impl Handler for BillingHandler {
    type Payload = BillingCharge;

    fn effect_policy(&self) -> EffectPolicy {
        EffectPolicy::Rerun { idempotent_for: Some(self.window.length()), looks_up: true }
    }

    async fn handle(&self, job: &Job<BillingCharge>, context: &JobContext) -> Result<Done, Failure> {
        let order = ChargeOrder::new(job, context.data())?;
        let run = Run { handler: self, order: &order, context };
        let payment = run.payment().await?;
        Ok(run.done(&payment))
    }
}

/// One run of one job.
struct Run<'a> {
    handler: &'a BillingHandler,
    order: &'a ChargeOrder,
    context: &'a JobContext,
}

impl Run<'_> {
    /// The one payment of this job, made now or found.
    async fn payment(&self) -> Result<Payment, Failure> {
        let phase = self.handler.window.phase(self.context.first_effect_age());
        if phase != Phase::Remembered {
            self.demand_time()?;
            if let Some(payment) = self.look_up().await.map_err(|error| self.failure(error))? {
                return Ok(payment);
            }
        }
        let window = match phase {
            Phase::Remembered => 0,
            Phase::Forgotten(window) => window,
            Phase::Settling(time) => return Err(still_settling(time)),
        };
        match self.charge(window).await? {
            Ok(payment) => Ok(payment),
            Err(error) if self.wants_a_look(&error) => match self.look_up().await {
                Ok(Some(payment)) => Ok(payment),
                Ok(None) => Err(self.failure(error)),
                Err(mismatch @ GatewayError::Mismatch { .. }) => Err(self.failure(mismatch)),
                // Where an earlier run may have charged, the list alone can tell: it is asked again.
                Err(unanswered) if self.is_again() => Err(self.failure(unanswered)),
                Err(_) => Err(self.failure(error)),
            },
            Err(error) => Err(self.failure(error)),
        }
    }

    async fn charge(&self, window: u64) -> Result<Result<Payment, GatewayError>, Failure> {
        let method = match self.method(window).await? {
            Ok(method) => method,
            Err(error) => return Ok(Err(error)),
        };
        // A request that is cut off by the deadline may charge, and its answer would be lost on purpose.
        self.demand_time()?;
        let key = ProviderKey::of_window(&self.order.job_id, window);
        Ok(self.handler.gateway.charge(&ChargeRequest { order: self.order, method: &method, key: &key }).await)
    }

    /// What the customer pays with: the same in every request of a window that may have arrived.
    async fn method(&self, window: u64) -> Result<Result<PaymentMethodId, GatewayError>, Failure> {
        let noted = ChosenMethod::noted(self.context);
        if self.is_again()
            && let Some(method) = noted.as_ref().and_then(|noted| noted.of_window(window))
        {
            return Ok(Ok(method));
        }
        self.demand_time()?;
        let method = match self.handler.gateway.payment_method(&self.order.customer_id).await {
            Ok(method) => method,
            Err(error) => return Ok(Err(error)),
        };
        let chosen = ChosenMethod::new(&method, window);
        if noted.as_ref() != Some(&chosen) {
            self.context.save_progress(chosen.note()).await.map_err(|failure| self.of_this_run_alone(failure))?;
        }
        Ok(Ok(method))
    }

    async fn look_up(&self) -> Result<Option<Payment>, GatewayError> {
        self.handler.gateway.find(self.order, &|| self.has_time()).await
    }

    /// Whether the provider's list of payments can tell more than its answer did.
    fn wants_a_look(&self, error: &GatewayError) -> bool {
        match error {
            GatewayError::KeyUnusable { .. } => true,
            GatewayError::Unchargeable { .. } | GatewayError::Refused { repeated: false, .. } => self.is_again(),
            _ => false,
        }
    }

    /// An earlier run may have charged. What this one did not do says nothing about it.
    fn is_again(&self) -> bool {
        self.context.first_effect_at().is_some()
    }

    /// Whether an answer of the provider can be waited for.
    fn has_time(&self) -> bool {
        self.context.remaining() >= self.handler.provider_timeout
    }

    fn demand_time(&self) -> Result<(), Failure> {
        if self.has_time() { Ok(()) } else { Err(self.of_this_run_alone(Failure::no_time())) }
    }

    /// This run surely charged nothing.
    fn of_this_run_alone(&self, failure: Failure) -> Failure {
        if self.is_again() { failure.possibly_done() } else { failure.surely_not_done() }
    }

    /// What an error of the provider means for the job.
    fn failure(&self, error: GatewayError) -> Failure {
        let (code, message) = (error.code(), error.to_string());
        match error {
            // An outage of any length is no fault of the job: it waits, and has its attempts for what comes after.
            GatewayError::Unreachable { .. } => self.of_this_run_alone(Failure::defer(code, message, None)),
            GatewayError::Unavailable { .. } => self.of_this_run_alone(Failure::retry(code, message)),
            GatewayError::Busy { retry_after, .. } => {
                let delay = retry_after.filter(|delay| !delay.is_zero());
                self.of_this_run_alone(Failure::defer(code, message, delay))
            }
            GatewayError::NotReady { .. } => {
                // Its jobs only wait, which is no error to the kit; but nothing is charged until somebody acts.
                self.log_error(&code, &message, "payment provider not ready");
                self.of_this_run_alone(Failure::defer(code, message, Some(NOT_READY_DELAY))).opening_circuit()
            }
            GatewayError::Forbidden => {
                self.log_error(&code, &message, "payment provider refuses one charge");
                self.of_this_run_alone(Failure::defer(code, message, Some(NOT_READY_DELAY))).of_one_target()
            }
            // The attempt counts: a list that never fits must end, and ends in doubt.
            GatewayError::Unlisted { .. } => self.of_this_run_alone(Failure::retry(code, message)).of_one_target(),
            // The answer to the first request under this key: none was ever carried out, and charges under older keys were looked for.
            GatewayError::Refused { repeated: true, .. } => Failure::permanent(code, message).surely_never_done(),
            GatewayError::Unchargeable { .. } | GatewayError::Refused { .. } => {
                self.of_this_run_alone(Failure::permanent(code, message))
            }
            GatewayError::Unknown { .. } | GatewayError::KeyUnusable { .. } => Failure::ambiguous(code, message),
            GatewayError::Mismatch { .. } => {
                self.log_error(&code, &message, "charge is not the one that was asked for");
                Failure::permanent(code, message).possibly_done()
            }
        }
    }

    fn log_error(&self, code: &str, error: &str, what: &'static str) {
        tracing::error!(job_id = self.order.job_id.as_str(), error_code = code, error, "{what}");
    }

    /// Whatever the customer's bank says is the result of the job: nobody is charged by trying again.
    fn done(&self, payment: &Payment) -> Done {
        let mut result = json!({"status": payment.state.name(), "paymentId": payment.id});
        match &payment.state {
            PaymentState::Succeeded | PaymentState::Processing => {
                result["amount"] = json!(self.order.money.amount());
                result["currency"] = json!(self.order.money.currency().code());
            }
            PaymentState::Declined { code } => result["code"] = json!(code),
            PaymentState::AuthenticationRequired => {}
        }
        tracing::info!(job_id = self.order.job_id.as_str(), payment_status = payment.state.name(), "charge answered");
        match &payment.id {
            Some(id) => Done::with_result(result).provider_ref(id),
            None => Done::with_result(result),
        }
    }
}

/// What was sent under the last key may still become visible. Nothing is charged before it would be.
fn still_settling(time: Duration) -> Failure {
    let message =
        "an earlier request may still be carried out by the provider; the charge is looked up again before it is repeated";
    Failure::defer("earlier_charge_settling", message, Some(time)).possibly_done().of_one_target()
}
