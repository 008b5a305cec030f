//! Contacts in a DynamoDB table with the key `user_id`.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::Arc,
};

use async_trait::async_trait;
use aws_sdk_dynamodb::{
    Client,
    error::{ProvideErrorMetadata as _, SdkError},
    operation::get_item::GetItemError,
    types::AttributeValue,
};
use ikkai::clock::{Clock, EpochSeconds};

use super::{Contact, Contacts, ContactsError, Recipient};
use crate::{
    address::{DisplayName, EmailAddress},
    member_path::member_path,
};

/// What is read of an item. Placeholders throughout, so that no name can collide with DynamoDB's reserved words; the key is among
/// them so that an item without any other attribute is told apart from no item.
const ATTRIBUTES: [(&str, &str); 7] = [
    ("#key", "user_id"),
    ("#email", "email"),
    ("#name", "display_name"),
    ("#locale", "locale"),
    ("#suppressed", "suppressed"),
    ("#variables", "variables"),
    ("#expires", "expires_at"),
];

type Item = HashMap<String, AttributeValue>;

/// Reads contacts with one `GetItem` each.
///
/// Attributes: `email` (S), and optionally `display_name` (S), `locale` (S), `suppressed` (BOOL), `variables` (M of S or N) and
/// `expires_at` (N, epoch seconds). NULL counts as missing.
///
/// A contact whose `expires_at` has come is not there, whether DynamoDB has deleted it or not: its time to live works within a few
/// days, and until then a read returns the item
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ttl-expired-items.html>).
#[derive(Clone)]
pub struct DynamoDbContacts {
    client: Client,
    table: String,
    clock: Arc<dyn Clock>,
}

impl fmt::Debug for DynamoDbContacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamoDbContacts").field("table", &self.table).finish_non_exhaustive()
    }
}

impl DynamoDbContacts {
    /// Contacts in `table`; the clock tells which have expired.
    #[must_use]
    pub fn new(client: Client, table: impl Into<String>, clock: Arc<dyn Clock>) -> Self {
        Self { client, table: table.into(), clock }
    }
}

#[async_trait]
impl Contacts for DynamoDbContacts {
    async fn find(&self, user_id: &str) -> Result<Option<Contact>, ContactsError> {
        let names = ATTRIBUTES.map(|(placeholder, name)| (placeholder.to_owned(), name.to_owned()));
        let answer = self
            .client
            .get_item()
            .table_name(&self.table)
            .key("user_id", AttributeValue::S(user_id.to_owned()))
            // A sign-up writes the contact and posts its welcome mail at once: an eventually consistent read may miss the new contact,
            // and an unknown user is a permanent error. It may miss a fresh opt-out as well. Half a read unit is the price.
            .consistent_read(true)
            .projection_expression(ATTRIBUTES.map(|(placeholder, _)| placeholder).join(", "))
            .set_expression_attribute_names(Some(HashMap::from(names)))
            .send()
            .await
            .map_err(|error| unread(&error))?;
        let Some(item) = answer.item else { return Ok(None) };
        if has_expired(&item, self.clock.now().to_seconds_floor())? {
            return Ok(None);
        }
        contact(&item).map(Some)
    }
}

/// By name rather than by variant: the throttling errors are not all modelled for this operation, and of what concerns credentials and
/// permissions none is
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html#Programming.Errors.MessagesAndCodes>).
fn unread<R>(error: &SdkError<GetItemError, R>) -> ContactsError {
    let not_ready = |code| ContactsError::NotReady { code };
    let unavailable = |code| ContactsError::Unavailable { code };
    if matches!(error, SdkError::TimeoutError(_)) {
        return unavailable("contacts_timeout");
    }
    match error.code() {
        Some("ProvisionedThroughputExceededException" | "RequestLimitExceeded" | "ThrottlingException") => {
            unavailable("contacts_throttled")
        }
        Some("ResourceNotFoundException") => not_ready("contacts_table_not_found"),
        Some(
            "AccessDeniedException"
            | "UnrecognizedClientException"
            | "IncompleteSignatureException"
            | "MissingAuthenticationTokenException",
        ) => not_ready("contacts_access_denied"),
        // A user id is always a key; it does not fit only where the table's key is another one.
        Some("ValidationException") => not_ready("contacts_table_refused"),
        _ => unavailable("contacts_unavailable"),
    }
}

fn has_expired(item: &Item, now: EpochSeconds) -> Result<bool, ContactsError> {
    let expires_at = match item.get("expires_at") {
        None | Some(AttributeValue::Null(_)) => return Ok(false),
        Some(AttributeValue::N(number)) => whole_seconds(number),
        Some(_) => None,
    };
    // Not read as "stays": whoever wrote something here meant the contact to go.
    let expires_at = expires_at.ok_or_else(|| malformed("expires_at", "it is not a number of epoch seconds"))?;
    Ok(expires_at <= now)
}

fn whole_seconds(number: &str) -> Option<EpochSeconds> {
    let whole = number.split_once('.').map_or(number, |(whole, _)| whole);
    whole.parse().ok().map(EpochSeconds::from_i64)
}

fn contact(item: &Item) -> Result<Contact, ContactsError> {
    // First and alone: somebody who must not be mailed is not to fail over an address that was erased on purpose.
    if flag(item, "suppressed")? {
        return Ok(Contact::Suppressed);
    }
    let address = text(item, "email")?.ok_or_else(|| malformed("email", "it is missing"))?;
    let display_name = text(item, "display_name")?.filter(|name| !name.trim().is_empty());
    Ok(Contact::Reachable(Recipient {
        address: EmailAddress::parse(address).map_err(|error| malformed("email", error))?,
        display_name: display_name.map(DisplayName::parse).transpose().map_err(|error| malformed("display_name", error))?,
        locale: text(item, "locale")?.map(str::to_owned),
        variables: variables(item)?,
    }))
}

fn flag(item: &Item, name: &str) -> Result<bool, ContactsError> {
    match item.get(name) {
        None | Some(AttributeValue::Null(_)) => Ok(false),
        Some(AttributeValue::Bool(value)) => Ok(*value),
        // Not read as "may be mailed": whoever wrote something here meant something by it.
        Some(_) => Err(malformed(name, "it is not a boolean")),
    }
}

fn text<'i>(item: &'i Item, name: &str) -> Result<Option<&'i str>, ContactsError> {
    match item.get(name) {
        None | Some(AttributeValue::Null(_)) => Ok(None),
        Some(AttributeValue::S(value)) => Ok(Some(value)),
        Some(_) => Err(malformed(name, "it is not a string")),
    }
}

fn variables(item: &Item) -> Result<BTreeMap<String, String>, ContactsError> {
    let entries = match item.get("variables") {
        None | Some(AttributeValue::Null(_)) => return Ok(BTreeMap::new()),
        Some(AttributeValue::M(entries)) => entries,
        Some(_) => return Err(malformed("variables", "it is not a map")),
    };
    let mut variables = BTreeMap::new();
    for (name, value) in entries {
        match value {
            // A number is written as DynamoDB keeps it, digit for digit.
            AttributeValue::S(value) | AttributeValue::N(value) => drop(variables.insert(name.clone(), value.clone())),
            AttributeValue::Null(_) => {}
            _ => return Err(malformed(&member_path("variables", name), "it is neither a string nor a number")),
        }
    }
    Ok(variables)
}

fn malformed(attribute: &str, problem: impl ToString) -> ContactsError {
    ContactsError::Malformed { attribute: attribute.to_owned(), problem: problem.to_string() }
}
