//! DynamoDB's condition and update expressions, as far as the contenders write them: attributes at the top level, comparisons, the two functions of
//! existence, `SET` with `if_not_exists` and one plus or minus, `REMOVE`. Anything else is refused, so that no contender is measured on a write
//! that was not made.
//!
//! <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html>

mod condition;
mod tokens;
mod update;

use serde_json::{Map, Value};

pub(super) use condition::holds;
pub(super) use update::apply;

/// An item: attribute values in DynamoDB's JSON, such as `{"S": "text"}`, by name.
pub(super) type Item = Map<String, Value>;

/// Why an expression was refused, for the contender's author.
pub(super) type Problem = String;

/// What a request says its placeholders stand for.
#[derive(Clone, Copy)]
pub(super) struct Placeholders<'a> {
    pub(super) names: Option<&'a Map<String, Value>>,
    pub(super) values: Option<&'a Map<String, Value>>,
}

impl<'a> Placeholders<'a> {
    /// Those of a request.
    pub(super) fn of(request: &'a Value) -> Self {
        let map = |name: &str| request.get(name).and_then(Value::as_object);
        Self { names: map("ExpressionAttributeNames"), values: map("ExpressionAttributeValues") }
    }

    /// The attribute that a name stands for.
    pub(super) fn attribute<'n>(&self, name: &'n str) -> Result<&'n str, Problem>
    where
        'a: 'n,
    {
        if !name.starts_with('#') {
            return Ok(name);
        }
        let found = self.names.and_then(|names| names.get(name)).and_then(Value::as_str);
        found.ok_or_else(|| format!("an expression attribute name used in the document path is not defined: {name}"))
    }

    fn value(&self, name: &str) -> Result<&'a Value, Problem> {
        let found = self.values.and_then(|values| values.get(name));
        found.ok_or_else(|| format!("an expression attribute value used in expression is not defined: {name}"))
    }
}

/// A number's digits as an integer.
fn whole(value: &Value) -> Result<i128, Problem> {
    let digits = value.get("N").and_then(Value::as_str);
    digits.and_then(|digits| digits.parse().ok()).ok_or_else(|| format!("not a whole number: {value}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn item(value: Value) -> Item {
        value.as_object().expect("an item").clone()
    }

    fn request() -> Value {
        json!({
            "ExpressionAttributeNames": {"#id": "id", "#status": "status", "#until": "until", "#n": "attempts"},
            "ExpressionAttributeValues": {
                ":running": {"S": "running"}, ":now": {"N": "100"}, ":one": {"N": "1"}, ":zero": {"N": "0"}, ":yes": {"BOOL": true},
            },
        })
    }

    fn check(expression: &str, stored: Option<Value>) -> Result<bool, Problem> {
        let request = request();
        let stored = stored.map(item);
        holds(expression, Placeholders::of(&request), stored.as_ref())
    }

    #[test]
    fn a_condition_is_checked_against_the_item_that_is_there() {
        let running = |until: &str| Some(json!({"id": {"S": "a"}, "status": {"S": "running"}, "until": {"N": until}}));
        let mine = "attribute_not_exists(#id) OR (#status = :running AND #until < :now)";
        assert_eq!(check(mine, None), Ok(true));
        assert_eq!(check(mine, running("99")), Ok(true));
        // As numbers, not as texts: "99" is greater than "100" only as a text.
        assert_eq!(check(mine, running("100")), Ok(false));
        assert_eq!(check(mine, running("1000")), Ok(false));
        assert_eq!(check(mine, running("99.993")), Ok(true));
        assert_eq!(check(mine, running("100.5")), Ok(false));
        assert!(check(mine, running("many")).is_err());
        assert_eq!(check(mine, Some(json!({"id": {"S": "a"}, "status": {"S": "done"}, "until": {"N": "1"}}))), Ok(false));
        assert_eq!(check("attribute_exists(id)", None), Ok(false));
        assert_eq!(check("attribute_exists(id)", running("1")), Ok(true));
    }

    #[test]
    fn what_is_missing_or_of_another_type_compares_with_nothing() {
        for comparator in ["=", "<", "<=", ">", ">="] {
            assert_eq!(check(&format!("#until {comparator} :now"), Some(json!({}))), Ok(false), "{comparator}");
            let text = Some(json!({"until": {"S": "100"}}));
            assert_eq!(check(&format!("#until {comparator} :now"), text), Ok(false), "{comparator}");
        }
        assert_eq!(check("#until <> :now", Some(json!({}))), Ok(true));
        assert_eq!(check("#until <> :now", Some(json!({"until": {"N": "100"}}))), Ok(false));
        assert_eq!(check("#status = :yes", Some(json!({"status": {"BOOL": true}}))), Ok(true));
    }

    #[test]
    fn and_binds_closer_than_or_and_not_closest() {
        let stored = || Some(json!({"status": {"S": "running"}}));
        assert_eq!(check("#status = :running OR #until = :now AND #until = :now", stored()), Ok(true));
        assert_eq!(check("(#status = :running OR #until = :now) AND #until = :now", stored()), Ok(false));
        assert_eq!(check("NOT #until = :now AND #status = :running", stored()), Ok(true));
    }

    #[test]
    fn an_expression_that_is_not_understood_is_refused() {
        for expression in [
            "begins_with(#id, :now)",
            "#id BETWEEN :zero AND :one",
            "a.b = :now",
            "a[0] = :now",
            "#id = :now extra",
            "#id =",
            "(#id = :now",
            "#unknown = :now",
            "#id = :unknown",
            "",
        ] {
            assert!(check(expression, None).is_err(), "{expression}");
        }
    }

    fn changed(expression: &str, stored: Value) -> Result<Value, Problem> {
        let request = request();
        apply(expression, Placeholders::of(&request), &item(stored)).map(Value::Object)
    }

    #[test]
    fn an_update_sets_and_removes() {
        let stored = json!({"id": {"S": "a"}, "until": {"N": "5"}});
        let expression = "SET #status = :running, #n = if_not_exists(#n, :zero) + :one REMOVE #until";
        let once = changed(expression, stored).expect("an update");
        assert_eq!(once, json!({"id": {"S": "a"}, "status": {"S": "running"}, "attempts": {"N": "1"}}));
        let twice = changed(expression, once).expect("an update");
        assert_eq!(twice["attempts"], json!({"N": "2"}));
        assert_eq!(changed("set #n = #n - :one", twice).expect("an update")["attempts"], json!({"N": "1"}));
    }

    /// Every right side is the item's as it was, whatever stands to its left.
    #[test]
    fn an_update_reads_the_item_as_it_was() {
        let stored = json!({"a": {"N": "1"}, "b": {"N": "2"}});
        assert_eq!(changed("SET a = b, b = a", stored).expect("an update"), json!({"a": {"N": "2"}, "b": {"N": "1"}}));
    }

    #[test]
    fn an_update_that_is_not_understood_is_refused() {
        for expression in
            ["ADD #n :one", "SET #n = :one SET #n = :one", "SET #n = list_append(#n, :one)", "SET #n = #missing", "SET", ""]
        {
            assert!(changed(expression, json!({})).is_err(), "{expression}");
        }
        assert!(changed("SET #n = #status", json!({})).is_err(), "an attribute that is not there");
        assert!(changed("SET #n = #n + :one", json!({})).is_err(), "an attribute that is not there");
    }
}
