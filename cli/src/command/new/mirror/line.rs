//! Lines about the model in entries that belong to several consumers.

use super::{Copy, MODEL, MirrorError, NOT_THE_MODEL, is_models};
use crate::local::consumers::Consumer;

/// An entry's lines, and beside each that is about the model alone its copy; `first` is the number of the first.
pub(super) fn beside(lines: &[String], first: usize, copy: &Copy<'_>) -> Result<Vec<String>, MirrorError> {
    let mut edited = Vec::with_capacity(lines.len());
    let mut run: Vec<String> = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        if !is_about_model(line) {
            edited.append(&mut run);
            edited.push(line.clone());
        } else if is_about_others(line) {
            edited.append(&mut run);
            let number = first + index;
            edited.push(member(line, copy).ok_or_else(|| MirrorError::Line { number, line: line.trim().to_owned() })?);
        } else {
            // Lines that follow each other stay together: they are one thing in several lines.
            run.push(copy.renamed(line));
            edited.push(line.clone());
        }
    }
    edited.append(&mut run);
    Ok(edited)
}

/// A list on one line with a member more.
fn member(line: &str, copy: &Copy<'_>) -> Option<String> {
    let mut members: Vec<String> = Vec::new();
    let mut copied = false;
    for member in line.split(',') {
        members.push(member.to_owned());
        if !is_about_model(member) {
            continue;
        }
        // A member with the end of the list in it, or with the beginning, is not one alone.
        let balanced = [('[', ']'), ('(', ')'), ('{', '}')];
        let counts = |(open, close)| member.matches(open).count() == member.matches(close).count();
        if !balanced.into_iter().all(counts) || member.matches('"').count() % 2 == 1 || is_about_others(member) {
            return None;
        }
        // The first member's blanks are the line's.
        let blank = if member.starts_with(' ') && members.len() > 1 { " " } else { "" };
        members.push(format!("{blank}{}", copy.renamed(member.trim())));
        copied = true;
    }
    copied.then(|| members.join(","))
}

fn is_about_model(line: &str) -> bool {
    let is_comment = line.trim_start().starts_with('#');
    !is_comment && names(&line.replace(NOT_THE_MODEL, ""), MODEL)
}

fn is_about_others(line: &str) -> bool {
    Consumer::ALL.iter().filter(|other| **other != MODEL).any(|other| names(line, *other))
}

/// Whether a line has a consumer's name in it, in the template's words or in small letters.
fn names(line: &str, consumer: Consumer) -> bool {
    let mut words = line.split(|character: char| !character.is_ascii_alphanumeric());
    let small = consumer.name();
    let is_prefixed = |word: &str| if consumer == MODEL { is_models(word) } else { super::is_of(word, consumer.prefix()) };
    words.any(|word| word == small || (word != "ReportBatchItemFailures" && is_prefixed(word)))
}
