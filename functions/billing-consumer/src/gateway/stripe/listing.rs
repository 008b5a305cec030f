//! Finds the payment of a job among its customer's.
//!
//! The list is read and not the search API, whose index lags behind what is written, by minutes in bad times
//! (<https://docs.stripe.com/search#data-freshness>): a payment that is not found must not be there.
//! For the same reason the list is not narrowed by date: that would make one charge or two a matter of two machines' clocks.

use serde::Deserialize;
use url::Url;

use super::{
    super::{GatewayError, Payment, PaymentState},
    answer::Answer,
    payment_intent::PaymentIntent,
};
use crate::order::ChargeOrder;

/// Payments on a page, the most that Stripe gives (<https://docs.stripe.com/api/payment_intents/list>).
const PAGE: &str = "100";

/// Pages that are read at most. A customer with more payments needs a person to look.
const MAX_PAGES: usize = 20;

/// One search, page by page.
pub(super) struct Search<'a> {
    order: &'a ChargeOrder,
    amount: u64,
    pages: usize,
    last: Option<String>,
    found: Vec<Payment>,
}

#[derive(Deserialize)]
struct Page {
    data: Vec<PaymentIntent>,
    #[serde(default)]
    has_more: bool,
}

impl<'a> Search<'a> {
    pub(super) fn new(order: &'a ChargeOrder, amount: u64) -> Self {
        Self { order, amount, pages: 0, last: None, found: Vec::new() }
    }

    /// The URL of the next page.
    pub(super) fn page(&mut self, mut list: Url) -> Result<Url, GatewayError> {
        if self.pages == MAX_PAGES {
            return Err(GatewayError::Unlisted { code: "lookup_too_long" });
        }
        self.pages += 1;
        let mut query = list.query_pairs_mut();
        query.append_pair("customer", self.order.customer_id.as_str()).append_pair("limit", PAGE);
        if let Some(last) = &self.last {
            query.append_pair("starting_after", last);
        }
        drop(query);
        Ok(list)
    }

    /// Reads a page. `true` when it was the last one.
    pub(super) fn read(&mut self, answer: &Answer) -> Result<bool, GatewayError> {
        let page: Page = match answer.status {
            // A customer whom the provider does not know has no payments; but one that was deleted may have some, so this is no "none".
            404 => return Err(GatewayError::Unlisted { code: "lookup_refused" }),
            _ => answer.json().ok_or(GatewayError::Unavailable { code: "provider_answer_unreadable" })?,
        };
        self.last = page.data.last().map(|intent| intent.id.clone());
        for intent in page.data.into_iter().filter(|intent| intent.is_of(self.order)) {
            intent.demand_equal(self.order, self.amount)?;
            self.found.extend(intent.payment());
        }
        if page.has_more && self.last.is_none() {
            return Err(GatewayError::Unavailable { code: "provider_answer_unreadable" });
        }
        Ok(!page.has_more)
    }

    /// The payment that counts: the one that charged the customer, before one that may still, before those that did not.
    pub(super) fn found(self) -> Result<Option<Payment>, GatewayError> {
        let rank = |payment: &Payment| match payment.state {
            PaymentState::Succeeded => 0,
            PaymentState::Processing => 1,
            PaymentState::AuthenticationRequired => 2,
            PaymentState::Declined { .. } => 3,
        };
        if self.found.iter().filter(|payment| rank(payment) <= 1).count() > 1 {
            return Err(GatewayError::Mismatch { member: "number of charges" });
        }
        Ok(self.found.into_iter().min_by_key(rank))
    }
}
