//! An expression's words.

use super::Problem;

/// A word or sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A keyword, a function, or an attribute by its own name or a `#name`.
    Word(&'a str),
    /// A `:value`.
    Value(&'a str),
    /// Anything else.
    Sign(&'a str),
}

/// The words of an expression, to be taken one after the other.
pub(super) struct Tokens<'a> {
    rest: &'a str,
}

impl<'a> Tokens<'a> {
    pub(super) fn of(expression: &'a str) -> Self {
        Self { rest: expression.trim_start() }
    }

    /// The next one, which stays.
    pub(super) fn peek(&self) -> Option<Token<'a>> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let first = self.rest.chars().next()?;
        let end = |from: usize| self.rest[from..].find(|c| !is_name(c)).map_or(self.rest.len(), |at| at + from);
        Some(match first {
            ':' => Token::Value(&self.rest[..end(1)]),
            '#' => Token::Word(&self.rest[..end(1)]),
            c if is_name(c) => Token::Word(&self.rest[..end(0)]),
            _ => {
                let two = ["<>", "<=", ">="].into_iter().find(|sign| self.rest.starts_with(sign));
                Token::Sign(two.unwrap_or_else(|| &self.rest[..first.len_utf8()]))
            }
        })
    }

    /// Takes the next one.
    pub(super) fn next(&mut self) -> Option<Token<'a>> {
        let token = self.peek()?;
        let (Token::Word(text) | Token::Value(text) | Token::Sign(text)) = token;
        self.rest = self.rest[text.len()..].trim_start();
        Some(token)
    }

    /// Takes this keyword, whatever its case, if it is the next.
    pub(super) fn takes_word(&mut self, keyword: &str) -> bool {
        let is_next = matches!(self.peek(), Some(Token::Word(word)) if word.eq_ignore_ascii_case(keyword));
        if is_next {
            self.next();
        }
        is_next
    }

    /// Takes this sign if it is the next.
    pub(super) fn takes_sign(&mut self, sign: &str) -> bool {
        let is_next = self.peek() == Some(Token::Sign(sign));
        if is_next {
            self.next();
        }
        is_next
    }

    /// Takes this sign, which has to be the next.
    pub(super) fn sign(&mut self, sign: &str) -> Result<(), Problem> {
        if self.takes_sign(sign) { Ok(()) } else { Err(self.problem()) }
    }

    /// Takes an attribute's name.
    pub(super) fn name(&mut self) -> Result<&'a str, Problem> {
        match self.peek() {
            Some(Token::Word(name)) => {
                self.next();
                Ok(name)
            }
            _ => Err(self.problem()),
        }
    }

    /// Nothing may be left.
    pub(super) fn end(&self) -> Result<(), Problem> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.problem()) }
    }

    /// What is next is not understood.
    pub(super) fn problem(&self) -> Problem {
        let at = if self.rest.is_empty() { "its end" } else { self.rest };
        format!("the expression is not understood from here: {at}")
    }
}
