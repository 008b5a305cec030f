//! Customers, payments and remembered keys.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};
use url::form_urlencoded;

use super::Seen;

/// How a card behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Card {
    Good,
    /// Declined for want of funds.
    Empty,
    /// The bank wants to hear from the customer.
    Guarded,
    /// A slow method.
    Slow,
}

/// What the provider knows.
#[derive(Default)]
pub(crate) struct Payments {
    customers: HashMap<String, Value>,
    cards: HashMap<String, Card>,
    intents: Vec<Value>,
    keys: HashMap<String, Remembered>,
    pub(crate) page_size: usize,
}

struct Remembered {
    body: String,
    status: u16,
    answer: Vec<u8>,
}

impl Payments {
    /// A customer whose default payment method is a card of this kind.
    pub(crate) fn customer(&mut self, id: &str, card: Card) {
        let method = format!("pm_of_{id}");
        self.cards.insert(method.clone(), card);
        self.customers.insert(
            id.to_owned(),
            json!({"id": id, "object": "customer", "invoice_settings": {"default_payment_method": method}}),
        );
    }

    /// Another default.
    pub(crate) fn set_default(&mut self, customer: &str, method: Option<&str>) {
        if let Some(method) = method {
            self.cards.insert(method.to_owned(), Card::Good);
        }
        self.customers.get_mut(customer).unwrap()["invoice_settings"]["default_payment_method"] = json!(method);
    }

    pub(crate) fn forget_customer(&mut self, id: &str) {
        self.customers.remove(id);
    }

    pub(crate) fn forget_keys(&mut self) {
        self.keys.clear();
    }

    pub(crate) fn charges(&self) -> usize {
        self.intents.iter().filter(|intent| intent["status"] == "succeeded").count()
    }

    pub(crate) fn intents(&mut self) -> &mut Vec<Value> {
        &mut self.intents
    }

    /// Stores an answer under the key, whatever was stored.
    pub(super) fn overwrite(&mut self, seen: &Seen, status: u16, answer: &[u8]) {
        if let Some(key) = &seen.key {
            self.keys.insert(key.clone(), Remembered { body: seen.body.clone(), status, answer: answer.to_vec() });
        }
    }

    /// Status, body, and whether they are repeated.
    pub(super) fn charge(&mut self, seen: &Seen) -> (u16, Vec<u8>, bool) {
        let key = seen.key.clone().unwrap_or_default();
        match self.keys.get(&key) {
            Some(known) if known.body != seen.body => {
                let error = json!({"error": {"type": "idempotency_error", "message": "other parameters"}});
                return (400, error.to_string().into_bytes(), false);
            }
            Some(known) => return (known.status, known.answer.clone(), true),
            None => {}
        }
        let (status, body) = self.executed(&seen.body);
        let answer = body.to_string().into_bytes();
        if !key.is_empty() {
            self.keys.insert(key, Remembered { body: seen.body.clone(), status, answer: answer.clone() });
        }
        (status, answer, false)
    }

    fn executed(&mut self, form: &str) -> (u16, Value) {
        let form: BTreeMap<String, String> = form_urlencoded::parse(form.as_bytes()).into_owned().collect();
        let text = |name: &str| form.get(name).cloned().unwrap_or_default();
        if !self.customers.contains_key(&text("customer")) {
            return (
                404,
                json!({"error": {"type": "invalid_request_error", "code": "resource_missing", "message": "No such customer"}}),
            );
        }
        let Ok(amount) = text("amount").parse::<u64>() else { return (400, json!({"error": {"type": "invalid_request_error"}})) };
        if amount < 50 {
            return (400, json!({"error": {"type": "invalid_request_error", "code": "amount_too_small", "message": "m"}}));
        }
        let card = self.cards.get(&text("payment_method")).copied().unwrap_or(Card::Good);
        let mut intent = json!({
            "id": format!("pi_{}", self.intents.len() + 1), "object": "payment_intent", "amount": amount, "amount_received": 0,
            "currency": text("currency"), "customer": text("customer"), "last_payment_error": null,
            "metadata": {"ikkai_job_id": text("metadata[ikkai_job_id]"), "invoice_id": text("metadata[invoice_id]")},
        });
        let error = match card {
            Card::Good => {
                intent["status"] = json!("succeeded");
                intent["amount_received"] = json!(amount);
                None
            }
            Card::Slow => {
                intent["status"] = json!("processing");
                None
            }
            Card::Empty => {
                Some(json!({"type": "card_error", "code": "card_declined", "decline_code": "insufficient_funds", "message": "m"}))
            }
            Card::Guarded => Some(json!({"type": "card_error", "code": "authentication_required", "message": "m"})),
        };
        let answer = match error {
            None => (200, intent.clone()),
            Some(mut error) => {
                intent["status"] = json!("requires_payment_method");
                intent["last_payment_error"] = error.clone();
                error["payment_intent"] = intent.clone();
                (402, json!({"error": error}))
            }
        };
        // The newest first, as the list is sorted.
        self.intents.insert(0, intent);
        answer
    }

    /// Customers, cards, the list of payments.
    pub(super) fn read(&self, target: &str) -> (u16, Value) {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let query: BTreeMap<String, String> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        let missing = (404, json!({"error": {"type": "invalid_request_error", "code": "resource_missing", "message": "m"}}));
        if let Some(id) = path.strip_prefix("/v1/customers/") {
            return self.customers.get(id).map_or(missing, |customer| (200, customer.clone()));
        }
        let customer = query.get("customer").cloned().unwrap_or_default();
        match path {
            "/v1/payment_methods" => {
                let cards = self.cards.keys().filter(|method| method.ends_with(&format!("_{customer}")));
                (200, json!({"data": cards.map(|id| json!({"id": id})).collect::<Vec<_>>(), "has_more": false}))
            }
            "/v1/payment_intents" => {
                let mut all: Vec<&Value> = self.intents.iter().filter(|intent| intent["customer"] == customer).collect();
                if let Some(after) = query.get("starting_after") {
                    let position = all.iter().position(|intent| intent["id"] == *after).unwrap();
                    all.drain(..=position);
                }
                let size = if self.page_size == 0 { 100 } else { self.page_size };
                let page: Vec<&Value> = all.iter().take(size).copied().collect();
                (200, json!({"data": page, "has_more": all.len() > size}))
            }
            _ => missing,
        }
    }
}
