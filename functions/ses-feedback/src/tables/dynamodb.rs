//! The tables in DynamoDB.

use std::collections::HashMap;

use async_trait::async_trait;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::types::AttributeValue;
use ikkai::job::JobId;
use serde::Deserialize;

use super::{Contact, Suppression, TableError, Tables, Written};

type Item = HashMap<String, AttributeValue>;

/// Of a mail job's payload, whom it is to.
#[derive(Deserialize)]
struct MailPayload {
    #[serde(rename = "userId")]
    user_id: String,
}

/// Reads jobs with one `GetItem`, and reads and marks contacts with one `GetItem` and one conditional `UpdateItem`.
///
/// The mark is what the e-mail consumer reads, `suppressed` (BOOL), with `suppressed_reason` (S: `bounce` or `complaint`),
/// `suppressed_at` (N: epoch milliseconds) and `suppressed_by` (S: SES's id of the report).
#[derive(Clone, Debug)]
pub struct DynamoDbTables {
    client: Client,
    jobs: String,
    contacts: String,
}

impl DynamoDbTables {
    /// The tables of these names.
    #[must_use]
    pub fn new(client: Client, jobs: impl Into<String>, contacts: impl Into<String>) -> Self {
        Self { client, jobs: jobs.into(), contacts: contacts.into() }
    }
}

#[async_trait]
impl Tables for DynamoDbTables {
    async fn mailed_user(&self, job_id: &JobId) -> Result<Option<String>, TableError> {
        let answer = self
            .client
            .get_item()
            .table_name(&self.jobs)
            .key("job_id", text(job_id.as_str()))
            // A report may come within a second of its job, and a job that is not found would be passed over.
            .consistent_read(true)
            .projection_expression("#payload")
            .expression_attribute_names("#payload", "payload")
            .send()
            .await
            .map_err(|error| failed("GetItem", "jobs", &error))?;
        let Some(item) = answer.item else { return Ok(None) };
        let payload = string(&item, "payload").ok_or(TableError::NoUser)?;
        let payload: MailPayload = serde_json::from_str(payload).map_err(|_| TableError::NoUser)?;
        Ok(Some(payload.user_id))
    }

    async fn contact(&self, user_id: &str) -> Result<Option<Contact>, TableError> {
        let answer = self
            .client
            .get_item()
            .table_name(&self.contacts)
            .key("user_id", text(user_id))
            // What is read here is compared with what is written next.
            .consistent_read(true)
            // The key is among them, so that an item without the others is told apart from no item.
            .projection_expression("#key, #email, #suppressed, #by")
            .set_expression_attribute_names(Some(names(&[
                ("#key", "user_id"),
                ("#email", "email"),
                ("#suppressed", "suppressed"),
                ("#by", "suppressed_by"),
            ])))
            .send()
            .await
            .map_err(|error| failed("GetItem", "contacts", &error))?;
        Ok(answer.item.map(|item| Contact {
            address: string(&item, "email").map(str::to_owned),
            suppressed: item.get("suppressed") == Some(&AttributeValue::Bool(true)),
            marked_by: string(&item, "suppressed_by").map(str::to_owned),
        }))
    }

    async fn suppress(&self, user_id: &str, address: &str, mark: &Suppression) -> Result<Written, TableError> {
        let sent = self
            .client
            .update_item()
            .table_name(&self.contacts)
            .key("user_id", text(user_id))
            .update_expression("SET #suppressed = :true, #reason = :reason, #at = :at, #by = :by")
            // The first part also keeps the update from making a contact that is gone.
            .condition_expression("#email = :address AND (attribute_not_exists(#by) OR #by <> :by)")
            .set_expression_attribute_names(Some(names(&[
                ("#email", "email"),
                ("#suppressed", "suppressed"),
                ("#reason", "suppressed_reason"),
                ("#at", "suppressed_at"),
                ("#by", "suppressed_by"),
            ])))
            .expression_attribute_values(":address", text(address))
            .expression_attribute_values(":true", AttributeValue::Bool(true))
            .expression_attribute_values(":reason", text(mark.reason.as_str()))
            .expression_attribute_values(":at", AttributeValue::N(mark.at.as_i64().to_string()))
            .expression_attribute_values(":by", text(&mark.report))
            .send()
            .await;
        match sent {
            Ok(_) => Ok(Written::Yes),
            Err(error) if error.code() == Some("ConditionalCheckFailedException") => Ok(Written::Changed),
            Err(error) => Err(failed("UpdateItem", "contacts", &error)),
        }
    }
}

fn names(names: &[(&str, &str)]) -> HashMap<String, String> {
    names.iter().map(|(placeholder, name)| ((*placeholder).to_owned(), (*name).to_owned())).collect()
}

fn text(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}

fn string<'i>(item: &'i Item, name: &str) -> Option<&'i str> {
    item.get(name).and_then(|value| value.as_s().ok()).map(String::as_str)
}

fn failed<E: ProvideErrorMetadata, R>(operation: &'static str, table: &'static str, error: &SdkError<E, R>) -> TableError {
    let code = error.code().unwrap_or(match error {
        SdkError::TimeoutError(_) => "timed out",
        SdkError::DispatchFailure(_) => "no connection",
        _ => "no readable answer",
    });
    TableError::Unavailable { operation, table, code: code.to_owned() }
}
