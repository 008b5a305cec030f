//! Tables in memory, with the four operations that the contenders use.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::expression::{Item, Placeholders, apply, holds};

/// The tables and the attribute that is the key of each.
const TABLES: [(&str, &str); 4] = [("jobs", "job_id"), ("contacts", "user_id"), ("floor", "id"), ("powertools", "id")];

/// Why a call is refused.
#[derive(Debug, PartialEq)]
pub(super) enum Refusal {
    /// The condition does not hold. The item is told where the request asks for it.
    ConditionFailed(Option<Item>),
    /// The call itself is wrong: the contender's mistake, or something that the stub does not know.
    Invalid(String),
}

/// All tables.
#[derive(Debug)]
pub(super) struct Tables(HashMap<&'static str, Table>);

#[derive(Debug)]
struct Table {
    key: &'static str,
    items: HashMap<String, Item>,
}

impl Tables {
    /// Empty tables.
    pub(super) fn new() -> Self {
        Self(TABLES.into_iter().map(|(name, key)| (name, Table { key, items: HashMap::new() })).collect())
    }

    /// Answers a call.
    pub(super) fn call(&mut self, operation: &str, request: &Value) -> Result<Value, Refusal> {
        let name = request["TableName"].as_str().unwrap_or_default();
        let table = self.0.get_mut(name).ok_or_else(|| Refusal::Invalid(format!("there is no table {name:?}")))?;
        match operation {
            "PutItem" => table.put(request),
            "UpdateItem" => table.update(request),
            "GetItem" => table.get(request),
            "DeleteItem" => table.delete(request),
            _ => Err(Refusal::Invalid(format!("the stub has no operation {operation:?}"))),
        }
    }
}

impl Table {
    fn put(&mut self, request: &Value) -> Result<Value, Refusal> {
        let item = request["Item"].as_object().cloned().ok_or_else(|| invalid("no Item"))?;
        let key = self.key_in(&item)?;
        self.check(request, &key)?;
        self.items.insert(key, item);
        Ok(json!({}))
    }

    fn update(&mut self, request: &Value) -> Result<Value, Refusal> {
        let key = self.key_of(request)?;
        self.check(request, &key)?;
        let before = self.items.get(&key).cloned();
        let before = before.or_else(|| request["Key"].as_object().cloned()).unwrap_or_default();
        let after = match request["UpdateExpression"].as_str() {
            Some(expression) => apply(expression, Placeholders::of(request), &before).map_err(Refusal::Invalid)?,
            None => before,
        };
        let answer = match request["ReturnValues"].as_str() {
            None | Some("NONE") => json!({}),
            Some("ALL_NEW") => json!({"Attributes": after}),
            Some(other) => return Err(Refusal::Invalid(format!("the stub returns no {other}"))),
        };
        self.items.insert(key, after);
        Ok(answer)
    }

    fn get(&self, request: &Value) -> Result<Value, Refusal> {
        let Some(item) = self.items.get(&self.key_of(request)?) else { return Ok(json!({})) };
        let Some(projection) = request["ProjectionExpression"].as_str() else { return Ok(json!({"Item": item})) };
        let placeholders = Placeholders::of(request);
        let mut seen = Item::new();
        for name in projection.split(',').map(str::trim) {
            let attribute = placeholders.attribute(name).map_err(Refusal::Invalid)?;
            seen.extend(item.get(attribute).map(|value| (attribute.to_owned(), value.clone())));
        }
        Ok(json!({"Item": seen}))
    }

    fn delete(&mut self, request: &Value) -> Result<Value, Refusal> {
        let key = self.key_of(request)?;
        self.check(request, &key)?;
        self.items.remove(&key);
        Ok(json!({}))
    }

    fn check(&self, request: &Value, key: &str) -> Result<(), Refusal> {
        let Some(condition) = request["ConditionExpression"].as_str() else { return Ok(()) };
        let stored = self.items.get(key);
        if holds(condition, Placeholders::of(request), stored).map_err(Refusal::Invalid)? {
            return Ok(());
        }
        let is_told = request["ReturnValuesOnConditionCheckFailure"] == "ALL_OLD";
        Err(Refusal::ConditionFailed(stored.filter(|_| is_told).cloned()))
    }

    fn key_of(&self, request: &Value) -> Result<String, Refusal> {
        let key = request["Key"].as_object().ok_or_else(|| invalid("no Key"))?;
        if key.len() != 1 {
            return Err(invalid("the key has one attribute"));
        }
        self.key_in(key)
    }

    fn key_in(&self, attributes: &Item) -> Result<String, Refusal> {
        let key = attributes.get(self.key).and_then(|value| value["S"].as_str()).filter(|key| !key.is_empty());
        key.map(str::to_owned)
            .ok_or_else(|| Refusal::Invalid(format!("the table's key is {}, a text that is not empty", self.key)))
    }
}

fn invalid(problem: &str) -> Refusal {
    Refusal::Invalid(problem.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(tables: &mut Tables, owner: &str) -> Result<Value, Refusal> {
        tables.call(
            "PutItem",
            &json!({
                "TableName": "floor", "Item": {"id": {"S": "a"}, "owner": {"S": owner}},
                "ConditionExpression": "attribute_not_exists(id)", "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            }),
        )
    }

    #[test]
    fn of_two_conditional_writes_one_wins_and_the_other_sees_it() {
        let mut tables = Tables::new();
        assert_eq!(put(&mut tables, "first"), Ok(json!({})));
        let Err(Refusal::ConditionFailed(Some(stored))) = put(&mut tables, "second") else { panic!("it is taken") };
        assert_eq!(stored["owner"], json!({"S": "first"}));
        let key = json!({"TableName": "floor", "Key": {"id": {"S": "a"}}});
        assert_eq!(tables.call("GetItem", &key).expect("an item")["Item"]["owner"], json!({"S": "first"}));
        assert_eq!(tables.call("DeleteItem", &key), Ok(json!({})));
        assert_eq!(tables.call("GetItem", &key), Ok(json!({})));
        assert_eq!(put(&mut tables, "second"), Ok(json!({})));
    }

    #[test]
    fn a_refused_update_changes_nothing_and_tells_the_item_only_where_it_is_asked_to() {
        let mut tables = Tables::new();
        put(&mut tables, "first").expect("it is free");
        let update = |owner: &str, told: &str| {
            json!({
                "TableName": "floor", "Key": {"id": {"S": "a"}}, "UpdateExpression": "SET done = :yes",
                "ConditionExpression": "#owner = :owner", "ExpressionAttributeNames": {"#owner": "owner"},
                "ExpressionAttributeValues": {":owner": {"S": owner}, ":yes": {"BOOL": true}},
                "ReturnValues": "ALL_NEW", "ReturnValuesOnConditionCheckFailure": told,
            })
        };
        assert_eq!(tables.call("UpdateItem", &update("second", "NONE")), Err(Refusal::ConditionFailed(None)));
        let Err(Refusal::ConditionFailed(Some(stored))) = tables.call("UpdateItem", &update("second", "ALL_OLD")) else {
            panic!("it is somebody else's")
        };
        assert_eq!(stored.get("done"), None);
        let answer = tables.call("UpdateItem", &update("first", "NONE")).expect("it is mine");
        assert_eq!(answer["Attributes"], json!({"id": {"S": "a"}, "owner": {"S": "first"}, "done": {"BOOL": true}}));
    }

    #[test]
    fn an_update_of_nothing_makes_an_item_of_its_key() {
        let mut tables = Tables::new();
        let update = json!({
            "TableName": "jobs", "Key": {"job_id": {"S": "j"}}, "UpdateExpression": "SET n = :n",
            "ExpressionAttributeValues": {":n": {"N": "1"}}, "ReturnValues": "ALL_NEW",
        });
        let answer = tables.call("UpdateItem", &update).expect("a write");
        assert_eq!(answer, json!({"Attributes": {"job_id": {"S": "j"}, "n": {"N": "1"}}}));
    }

    #[test]
    fn a_read_shows_what_it_asks_for() {
        let mut tables = Tables::new();
        put(&mut tables, "me").expect("it is free");
        let read = json!({
            "TableName": "floor", "Key": {"id": {"S": "a"}}, "ProjectionExpression": "#o, missing",
            "ExpressionAttributeNames": {"#o": "owner"},
        });
        assert_eq!(tables.call("GetItem", &read), Ok(json!({"Item": {"owner": {"S": "me"}}})));
    }

    #[test]
    fn what_the_stub_does_not_know_is_refused() {
        let mut tables = Tables::new();
        for (operation, request) in [
            ("PutItem", json!({"TableName": "other", "Item": {"id": {"S": "a"}}})),
            ("PutItem", json!({"TableName": "floor", "Item": {"id": {"N": "1"}}})),
            ("Query", json!({"TableName": "floor"})),
            ("UpdateItem", json!({"TableName": "floor", "Key": {"id": {"S": "a"}}, "ReturnValues": "UPDATED_OLD"})),
            ("GetItem", json!({"TableName": "floor", "Key": {"id": {"S": "a"}, "sort": {"S": "b"}}})),
        ] {
            assert!(matches!(tables.call(operation, &request), Err(Refusal::Invalid(_))), "{operation} {request}");
        }
    }
}
