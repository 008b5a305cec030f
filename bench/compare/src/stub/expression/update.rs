//! Updates.

use serde_json::{Value, json};

use super::tokens::{Token, Tokens};
use super::{Item, Placeholders, Problem, whole};

/// The item after an update.
///
/// # Errors
/// When the expression is not understood, names what the request does not define, or reads an attribute that is not there.
pub(in super::super) fn apply(expression: &str, placeholders: Placeholders<'_>, before: &Item) -> Result<Item, Problem> {
    let mut reading = Reading { tokens: Tokens::of(expression), placeholders, before };
    let mut after = before.clone();
    let (mut sets, mut removes) = (false, false);
    loop {
        if !sets && reading.tokens.takes_word("SET") {
            sets = true;
            reading.set(&mut after)?;
        } else if !removes && reading.tokens.takes_word("REMOVE") {
            removes = true;
            reading.remove(&mut after)?;
        } else {
            break;
        }
    }
    reading.tokens.end()?;
    if sets || removes { Ok(after) } else { Err("the update expression is empty".to_owned()) }
}

struct Reading<'a> {
    tokens: Tokens<'a>,
    placeholders: Placeholders<'a>,
    before: &'a Item,
}

impl Reading<'_> {
    fn set(&mut self, after: &mut Item) -> Result<(), Problem> {
        loop {
            let name = self.tokens.name()?;
            let attribute = self.placeholders.attribute(name)?.to_owned();
            self.tokens.sign("=")?;
            let value = self.value()?;
            after.insert(attribute, value);
            if !self.tokens.takes_sign(",") {
                return Ok(());
            }
        }
    }

    fn remove(&mut self, after: &mut Item) -> Result<(), Problem> {
        loop {
            let name = self.tokens.name()?;
            after.remove(self.placeholders.attribute(name)?);
            if !self.tokens.takes_sign(",") {
                return Ok(());
            }
        }
    }

    fn value(&mut self) -> Result<Value, Problem> {
        let value = self.operand()?;
        let sign = if self.tokens.takes_sign("+") {
            1
        } else if self.tokens.takes_sign("-") {
            -1
        } else {
            return Ok(value);
        };
        let sum = whole(&value)? + sign * whole(&self.operand()?)?;
        Ok(json!({"N": sum.to_string()}))
    }

    fn operand(&mut self) -> Result<Value, Problem> {
        if let Some(Token::Value(name)) = self.tokens.peek() {
            self.tokens.next();
            return self.placeholders.value(name).cloned();
        }
        if self.tokens.takes_word("if_not_exists") {
            self.tokens.sign("(")?;
            let name = self.tokens.name()?;
            let found = self.before.get(self.placeholders.attribute(name)?).cloned();
            self.tokens.sign(",")?;
            let otherwise = self.operand()?;
            self.tokens.sign(")")?;
            return Ok(found.unwrap_or(otherwise));
        }
        let name = self.tokens.name()?;
        let found = self.before.get(self.placeholders.attribute(name)?).cloned();
        found.ok_or_else(|| format!("the expression refers to an attribute that does not exist in the item: {name}"))
    }
}
