//! What is to be charged.

use ikkai::{
    consumer::Failure,
    job::{BillingCharge, FieldError, Job, JobId, Money, ReferenceId},
};
use serde_json::Value;

/// One charge, as the job asks for it. The same for every attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChargeOrder {
    /// The job; the provider's records carry its id.
    pub job_id: JobId,
    /// The invoice that is paid.
    pub invoice_id: ReferenceId,
    /// The provider's id of the customer.
    pub customer_id: ReferenceId,
    /// How much.
    pub money: Money,
}

impl ChargeOrder {
    /// Reads a job and its private data.
    ///
    /// # Errors
    /// A permanent failure that names the members that are wrong: the producer refuses such jobs, so this one came another way.
    pub fn new(job: &Job<BillingCharge>, data: Option<&Value>) -> Result<Self, Failure> {
        let money = job.payload.money(data).map_err(|errors| {
            let code = if data.is_none() && job.payload.amount.is_none() { "amount_missing" } else { "job_data_malformed" };
            Failure::permanent(code, listed(&errors)).surely_not_done()
        })?;
        Ok(Self {
            job_id: job.id.clone(),
            invoice_id: job.payload.invoice_id.clone(),
            customer_id: job.payload.customer_id.clone(),
            money,
        })
    }
}

fn listed(errors: &[FieldError]) -> String {
    errors.iter().take(3).map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
