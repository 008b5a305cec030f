//! What becomes of one `billing.charge` job.

use std::{sync::Arc, time::Duration};

use ikkai::{
    consumer::{Done, Failure, Handler, JobContext},
    idempotency::EffectPolicy,
    job::{BillingCharge, Job},
};
use serde_json::json;

use crate::{
    gateway::{ChargeRequest, GatewayError, Payment, PaymentGateway, PaymentState},
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
        let key = match phase {
            Phase::Remembered => ProviderKey::first(&self.order.job_id),
            Phase::Forgotten(round) => ProviderKey::later(&self.order.job_id, round),
            Phase::Settling(time) => return Err(still_settling(time)),
        };
        match self.charge(key).await? {
            Ok(payment) => Ok(payment),
            Err(error) if self.wants_a_look(&error) => match self.look_up().await {
                Ok(Some(payment)) => Ok(payment),
                Err(mismatch @ GatewayError::Mismatch { .. }) => Err(self.failure(mismatch)),
                // Not found, or not answered: the first error is what is known.
                Ok(None) | Err(_) => Err(self.failure(error)),
            },
            Err(error) => Err(self.failure(error)),
        }
    }

    async fn charge(&self, key: ProviderKey) -> Result<Result<Payment, GatewayError>, Failure> {
        let gateway = &self.handler.gateway;
        self.demand_time()?;
        let method = match gateway.payment_method(&self.order.customer_id).await {
            Ok(method) => method,
            Err(error) => return Ok(Err(error)),
        };
        // A request that is cut off by the deadline may charge, and its answer would be lost on purpose.
        self.demand_time()?;
        Ok(gateway.charge(&ChargeRequest { order: self.order, method: &method, key: &key }).await)
    }

    async fn look_up(&self) -> Result<Option<Payment>, GatewayError> {
        self.handler.gateway.find(self.order).await
    }

    /// Whether the provider's list of payments can tell more than its answer did.
    fn wants_a_look(&self, error: &GatewayError) -> bool {
        let says_little = match error {
            GatewayError::KeyUnusable { .. } => true,
            GatewayError::Unchargeable { .. } => self.is_again(),
            _ => false,
        };
        says_little && self.demand_time().is_ok()
    }

    /// An earlier run may have charged. What this one did not do says nothing about it.
    fn is_again(&self) -> bool {
        self.context.first_effect_at().is_some()
    }

    fn demand_time(&self) -> Result<(), Failure> {
        if self.context.remaining() < self.handler.provider_timeout {
            return Err(self.of_this_run_alone(Failure::no_time()));
        }
        Ok(())
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
            GatewayError::Unchargeable { .. } => self.of_this_run_alone(Failure::permanent(code, message)),
            // Refused under a key that the provider remembers: no request under this key was ever carried out.
            GatewayError::Refused { .. } => Failure::permanent(code, message).surely_not_done(),
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
    Failure::defer("earlier_charge_settling", message, Some(time)).possibly_done()
}
