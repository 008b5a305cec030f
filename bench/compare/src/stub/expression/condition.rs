//! Conditions.

use std::cmp::Ordering;

use serde_json::Value;

use super::tokens::{Token, Tokens};
use super::{Item, Placeholders, Problem, whole};

/// Whether a condition holds for the item that is stored, or for none.
///
/// # Errors
/// When the expression is not understood, or names what the request does not define.
pub(in super::super) fn holds(expression: &str, placeholders: Placeholders<'_>, stored: Option<&Item>) -> Result<bool, Problem> {
    let mut reading = Reading { tokens: Tokens::of(expression), placeholders, stored };
    let holds = reading.any()?;
    reading.tokens.end()?;
    Ok(holds)
}

/// Reads and decides at once. Both sides of `AND` and `OR` are always read, so a mistake shows whatever the item is.
struct Reading<'a> {
    tokens: Tokens<'a>,
    placeholders: Placeholders<'a>,
    stored: Option<&'a Item>,
}

impl<'a> Reading<'a> {
    fn any(&mut self) -> Result<bool, Problem> {
        let mut holds = self.all()?;
        while self.tokens.takes_word("OR") {
            holds |= self.all()?;
        }
        Ok(holds)
    }

    fn all(&mut self) -> Result<bool, Problem> {
        let mut holds = self.one()?;
        while self.tokens.takes_word("AND") {
            holds &= self.one()?;
        }
        Ok(holds)
    }

    fn one(&mut self) -> Result<bool, Problem> {
        if self.tokens.takes_word("NOT") {
            return self.one().map(|holds| !holds);
        }
        if self.tokens.takes_sign("(") {
            let holds = self.any()?;
            self.tokens.sign(")")?;
            return Ok(holds);
        }
        for (function, wanted) in [("attribute_exists", true), ("attribute_not_exists", false)] {
            if self.tokens.takes_word(function) {
                self.tokens.sign("(")?;
                let exists = self.attribute()?.is_some();
                self.tokens.sign(")")?;
                return Ok(exists == wanted);
            }
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Result<bool, Problem> {
        let left = self.operand()?;
        let Some(Token::Sign(comparator)) = self.tokens.peek() else { return Err(self.tokens.problem()) };
        let wanted: fn(Ordering) -> bool = match comparator {
            "=" | "<>" => Ordering::is_eq,
            "<" => Ordering::is_lt,
            "<=" => Ordering::is_le,
            ">" => Ordering::is_gt,
            ">=" => Ordering::is_ge,
            _ => return Err(self.tokens.problem()),
        };
        self.tokens.next();
        let right = self.operand()?;
        let ordering = match (left, right) {
            (Some(left), Some(right)) => compared(left, right)?,
            _ => None,
        };
        Ok(ordering.is_some_and(wanted) != (comparator == "<>"))
    }

    fn operand(&mut self) -> Result<Option<&'a Value>, Problem> {
        match self.tokens.peek() {
            Some(Token::Value(name)) => {
                self.tokens.next();
                self.placeholders.value(name).map(Some)
            }
            _ => self.attribute(),
        }
    }

    fn attribute(&mut self) -> Result<Option<&'a Value>, Problem> {
        let name = self.tokens.name()?;
        let attribute = self.placeholders.attribute(name)?;
        Ok(self.stored.and_then(|item| item.get(attribute)))
    }
}

/// Numbers are compared as such. One contender writes its times with fractions of seconds, for which 53 bits are enough.
fn numbers(left: &Value, right: &Value) -> Result<Ordering, Problem> {
    if let (Ok(left), Ok(right)) = (whole(left), whole(right)) {
        return Ok(left.cmp(&right));
    }
    let fraction = |value: &Value| value["N"].as_str().and_then(|digits| digits.parse::<f64>().ok());
    let ordering = fraction(left).zip(fraction(right)).and_then(|(left, right)| left.partial_cmp(&right));
    ordering.ok_or_else(|| format!("not numbers: {left} and {right}"))
}

/// The order of two values of one type; `None` for values that have none.
fn compared(left: &Value, right: &Value) -> Result<Option<Ordering>, Problem> {
    let text = |value: &Value| value.get("S").and_then(Value::as_str).map(str::to_owned);
    if left.get("N").is_some() && right.get("N").is_some() {
        return numbers(left, right).map(Some);
    }
    if let (Some(left), Some(right)) = (text(left), text(right)) {
        return Ok(Some(left.as_bytes().cmp(right.as_bytes())));
    }
    Ok((left == right).then_some(Ordering::Equal))
}
