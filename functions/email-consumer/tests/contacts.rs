//! One suite for both stores of contacts, and what only DynamoDB can do wrong.

use std::{collections::BTreeMap, sync::Arc};

use aws_sdk_dynamodb::config::{BehaviorVersion, Builder, Credentials, Region, retry::RetryConfig};
use email_consumer::{Contact, Contacts, ContactsError, DisplayName, DynamoDbContacts, EmailAddress, MemoryContacts, Recipient};
use ikkai::{
    clock::{EpochMillis, ManualClock},
    testing::{HttpReply, HttpStub},
};
use serde_json::{Value, json};

/// A moment within the second 1,800,000,000.
const NOW: EpochMillis = EpochMillis::from_i64(1_800_000_000_500);

fn table(stub: &HttpStub) -> DynamoDbContacts {
    let config = Builder::default()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("eu-central-1"))
        .credentials_provider(Credentials::new("AKID", "secret", None, None, "test"))
        .endpoint_url(stub.url())
        .retry_config(RetryConfig::disabled());
    let clock = Arc::new(ManualClock::new(NOW));
    DynamoDbContacts::new(aws_sdk_dynamodb::Client::from_conf(config.build()), "contacts", clock)
}

/// A table that holds these items by user id.
async fn table_with(items: Value) -> HttpStub {
    HttpStub::start(move |request, _| {
        let item = items.get(request.json()["Key"]["user_id"]["S"].as_str().unwrap());
        HttpReply::json(200, item.map_or(json!({}), |item| json!({"Item": item})))
    })
    .await
}

async fn find(item: Value) -> Result<Option<Contact>, ContactsError> {
    let stub = table_with(json!({"user-1": item})).await;
    table(&stub).find("user-1").await
}

fn jane() -> Recipient {
    Recipient {
        address: EmailAddress::parse("jane@example.com").unwrap(),
        display_name: Some(DisplayName::parse("Jane Doe").unwrap()),
        locale: Some("de-AT".to_owned()),
        variables: BTreeMap::from([("city".to_owned(), "Wien".to_owned()), ("points".to_owned(), "12.50".to_owned())]),
    }
}

/// Both stores hold Jane with everything, Max with an address only, and somebody suppressed.
async fn behaves_like_a_store_of_contacts(contacts: &dyn Contacts) {
    assert_eq!(contacts.find("jane").await, Ok(Some(Contact::Reachable(jane()))));
    let max = Recipient {
        address: EmailAddress::parse("max@example.com").unwrap(),
        display_name: None,
        locale: None,
        variables: BTreeMap::new(),
    };
    assert_eq!(contacts.find("max").await, Ok(Some(Contact::Reachable(max))));
    assert_eq!(contacts.find("gone").await, Ok(Some(Contact::Suppressed)));
    assert_eq!(contacts.find("nobody").await, Ok(None));
    assert_eq!(contacts.find("Jane").await, Ok(None));
}

#[tokio::test]
async fn dynamodb_is_a_store_of_contacts() {
    let stub = table_with(json!({
        "jane": {
            "user_id": {"S": "jane"}, "email": {"S": "jane@example.com"}, "display_name": {"S": "Jane Doe"}, "locale": {"S": "de-AT"},
            "suppressed": {"BOOL": false},
            "variables": {"M": {"city": {"S": "Wien"}, "points": {"N": "12.50"}, "unset": {"NULL": true}}},
        },
        "max": {"user_id": {"S": "max"}, "email": {"S": "max@example.com"}, "display_name": {"S": " "}, "locale": {"NULL": true}},
        "gone": {"user_id": {"S": "gone"}, "suppressed": {"BOOL": true}, "email": {"S": "erased"}},
    }))
    .await;
    behaves_like_a_store_of_contacts(&table(&stub)).await;
}

#[tokio::test]
async fn memory_is_a_store_of_contacts() {
    let contacts = MemoryContacts::new();
    contacts.put("jane", Contact::Reachable(jane()));
    let max = EmailAddress::parse("max@example.com").unwrap();
    let max = Recipient { address: max, display_name: None, locale: None, variables: BTreeMap::new() };
    contacts.put("max", Contact::Reachable(max));
    contacts.put("gone", Contact::Suppressed);
    behaves_like_a_store_of_contacts(&contacts).await;

    let failure = ContactsError::Unavailable { code: "contacts_throttled" };
    contacts.fail_with(Some(failure.clone()));
    assert_eq!(contacts.find("jane").await, Err(failure));
}

#[tokio::test]
async fn a_lookup_is_one_consistent_read_of_what_is_needed() {
    let stub = table_with(json!({})).await;
    assert_eq!(table(&stub).find("user-1").await, Ok(None));
    let requests = stub.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].header("x-amz-target"), Some("DynamoDB_20120810.GetItem"));
    assert_eq!(
        requests[0].json(),
        json!({
            "TableName": "contacts",
            "Key": {"user_id": {"S": "user-1"}},
            "ConsistentRead": true,
            "ProjectionExpression": "#key, #email, #name, #locale, #suppressed, #variables, #expires",
            "ExpressionAttributeNames": {
                "#key": "user_id", "#email": "email", "#name": "display_name", "#locale": "locale", "#suppressed": "suppressed",
                "#variables": "variables", "#expires": "expires_at",
            },
        })
    );
}

#[tokio::test]
async fn a_contact_that_has_expired_is_gone_although_dynamodb_has_not_deleted_it_yet() {
    let expiring = |expires_at: Value| json!({"email": {"S": "max@example.com"}, "expires_at": expires_at});
    for (expires_at, is_there) in [
        (json!({"N": "1800000001"}), true),
        (json!({"N": "1800000000"}), false),
        (json!({"N": "1799999999.9"}), false),
        (json!({"N": "0"}), false),
        (json!({"N": "-1"}), false),
        (json!({"NULL": true}), true),
    ] {
        let found = find(expiring(expires_at.clone())).await.unwrap();
        assert_eq!(found.is_some(), is_there, "{expires_at}");
    }
    // Whatever else it holds, as after its deletion.
    for rest in [json!({"suppressed": {"BOOL": true}}), json!({"email": {"S": "erased"}}), json!({"suppressed": {"S": "x"}})] {
        let mut item = rest;
        item["expires_at"] = json!({"N": "1799999999"});
        assert_eq!(find(item).await, Ok(None));
    }
}

#[tokio::test]
async fn an_item_that_is_no_contact_names_the_attribute_and_not_its_value() {
    let email = json!({"S": "jane@example.com"});
    for (item, attribute) in [
        (json!({"user_id": {"S": "user-1"}}), "email"),
        (json!({"email": {"NULL": true}}), "email"),
        (json!({"email": {"N": "1"}}), "email"),
        (json!({"email": {"S": "jane@@example.com"}}), "email"),
        (json!({"email": {"S": "jane@example.com\r\nBcc: jane@example.org"}}), "email"),
        (json!({"email": email, "display_name": {"S": "jane\ndoe"}}), "display_name"),
        (json!({"email": email, "display_name": {"L": []}}), "display_name"),
        (json!({"email": email, "locale": {"BOOL": true}}), "locale"),
        (json!({"email": email, "suppressed": {"S": "true"}}), "suppressed"),
        (json!({"email": email, "expires_at": {"S": "jane"}}), "expires_at"),
        (json!({"email": email, "expires_at": {"N": "1E+99"}}), "expires_at"),
        (json!({"email": email, "variables": {"L": [{"S": "jane"}]}}), "variables"),
        (json!({"email": email, "variables": {"M": {"city": {"M": {"jane": {"S": "jane"}}}}}}), "variables.city"),
        (json!({"email": email, "variables": {"M": {"jane@example.com": {"BOOL": true}}}}), "variables"),
    ] {
        let error = find(item.clone()).await.unwrap_err();
        assert_eq!(error.code(), "contact_malformed");
        assert!(error.to_string().contains(&format!("{attribute:?}")), "{error}");
        assert!(!format!("{error} {error:?}").contains("jane"), "{error}");
        assert!(!format!("{error} {error:?}").contains("doe"), "{error}");
    }
}

#[tokio::test]
async fn a_table_that_is_set_up_wrong_is_told_apart_from_one_that_cannot_be_read_now() {
    use ContactsError::{NotReady, Unavailable};
    for (reply, expected) in [
        (HttpReply::json(400, error("ProvisionedThroughputExceededException")), Unavailable { code: "contacts_throttled" }),
        (HttpReply::json(400, error("ThrottlingException")), Unavailable { code: "contacts_throttled" }),
        (HttpReply::json(400, error("ResourceNotFoundException")), NotReady { code: "contacts_table_not_found" }),
        (HttpReply::json(400, error("AccessDeniedException")), NotReady { code: "contacts_access_denied" }),
        (HttpReply::json(400, error("UnrecognizedClientException")), NotReady { code: "contacts_access_denied" }),
        (HttpReply::json(400, error("ValidationException")), NotReady { code: "contacts_table_refused" }),
        (HttpReply::json(500, error("InternalServerError")), Unavailable { code: "contacts_unavailable" }),
        (HttpReply::Close, Unavailable { code: "contacts_unavailable" }),
    ] {
        let stub = HttpStub::replying(reply).await;
        let found = table(&stub).find("user-1").await;
        assert!(!format!("{found:?}").contains("jane"), "{found:?}");
        assert_eq!(found, Err(expected));
    }
}

fn error(name: &str) -> String {
    json!({"__type": format!("com.amazonaws.dynamodb.v20120810#{name}"), "message": "jane@example.com"}).to_string()
}
