//! A new consumer's part of a template, copied from another consumer's in the same file.
//!
//! Copying at run time keeps new consumers as the template makes them today: whatever all consumers have, the copy has. The billing consumer
//! is the model, because it calls a provider over the network; what it has for payments alone stays behind. Where the model's block is, its
//! whole block is copied; elsewhere whatever mentions it: an entry of its own, the lines of a list, a member of a list on one line.

mod entry;
mod line;
#[cfg(test)]
mod tests;

use self::entry::{Entry, Piece};
use super::names::Names;
use crate::local::consumers::Consumer;

/// The consumer that new ones are copied from.
const MODEL: Consumer = Consumer::Billing;

/// The payment provider's parts have this in their names; they are not copied.
const OWN: [&str; 2] = ["Payment", "PAYMENT"];

/// A parameter that belongs to payments without saying so.
const OWN_PARAMETER: &str = "BillingKeyWindowSeconds";

/// A member of DynamoDB's, which is not about the consumer.
const NOT_THE_MODEL: &str = "BillingMode";

/// What the copy says in another way. A charge in doubt is looked at sooner than other jobs.
const REPLACED: [(&str, &str); 3] = [
    ("PaymentTimeoutMs", "ProviderTimeoutMs"),
    ("the payment provider", "the provider"),
    ("within 240 minutes", "within 480 minutes"),
];

/// What the copy's parts say of themselves, by the ends of their names.
const DESCRIPTIONS: [(&str, &str); 2] = [
    (
        "ProviderTimeoutMs",
        "How long one call to the provider may take, milliseconds; at most three quarters of the function timeout less 500. Empty means \
         5000, or half of the function timeout where that is less.",
    ),
    ("ConsumerFunction", "Works on the jobs of {job_type}."),
];

/// Why a template cannot be copied from.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum MirrorError {
    #[error("has no block `# ---- {}`: new consumers are copied from that consumer's block", MODEL.prefix())]
    NoModel,
    #[error("has `{name}` already")]
    Exists { name: String },
    #[error("line {number}: cannot tell which part of the line is about the {} consumer, so nothing can be put beside it: `{line}`", MODEL.name())]
    Line { number: usize, line: String },
    #[error("the copy of the {} consumer's parts would say `{line}`, which is about {} itself: the command does not know that part", MODEL.name(), MODEL.name())]
    Leftover { line: String },
}

/// The template with a consumer more.
pub(super) fn with_consumer(template: &str, names: &Names) -> Result<String, MirrorError> {
    let pieces = entry::pieces(template);
    if let Some(taken) = entry::entries(&pieces).find(|entry| is_of(&entry.key, &names.prefix)) {
        return Err(MirrorError::Exists { name: taken.key.clone() });
    }
    if !pieces.iter().any(|piece| matches!(piece, Piece::Headline(title, _) if title == MODEL.prefix())) {
        return Err(MirrorError::NoModel);
    }
    let copy = Copy { names };
    let mut edited = Vec::new();
    let mut parameters: Vec<String> = Vec::new();
    let mut number = 1;
    for group in entry::groups(&pieces) {
        let in_models_group = group.title == Some(MODEL.prefix());
        let mut waiting = Vec::new();
        for piece in group.pieces {
            match piece {
                Piece::Entry(entry) if is_models(&entry.key) => {
                    if let Some(copied) = copy.entry(entry)? {
                        if group.section == "Parameters" {
                            parameters.push(copied.key.clone());
                        }
                        waiting.extend(copied.lines);
                    }
                    edited.extend(entry.lines.iter().cloned());
                }
                // The console's form, which has a group of its own for each consumer.
                Piece::Entry(entry) if group.section == "Metadata" => edited.extend(entry.lines.iter().cloned()),
                Piece::Entry(entry) => {
                    // In the model's own group its copies wait for the group's end, to stand under their own headline.
                    if !in_models_group {
                        edited.append(&mut waiting);
                    }
                    edited.extend(line::beside(&entry.lines, number, &copy)?);
                }
                Piece::Headline(_, line) | Piece::Other(line) => {
                    if !in_models_group {
                        edited.append(&mut waiting);
                    }
                    edited.push(line.clone());
                }
            }
            number += piece.len();
        }
        if in_models_group && !waiting.is_empty() {
            edited.push(entry::headline(&names.prefix));
        }
        edited.append(&mut waiting);
    }
    with_parameter_group(&mut edited, names, &parameters);
    edited.push(String::new());
    Ok(edited.join("\n"))
}

/// The parameters of a consumer, as pages list them: with what they are when nothing is said.
pub(super) fn parameters(template: &str, prefix: &str) -> Vec<String> {
    let pieces = entry::pieces(template);
    let groups = entry::groups(&pieces);
    let in_parameters = groups.iter().filter(|group| group.section == "Parameters").flat_map(|group| &group.pieces);
    let own = in_parameters.filter_map(|piece| match piece {
        Piece::Entry(entry) if is_of(&entry.key, prefix) => Some(entry),
        _ => None,
    });
    own.map(|entry| {
        let default = entry.lines.iter().find_map(|line| line.trim_start().strip_prefix("Default: "));
        match default.map(|default| default.trim_matches('\'')).filter(|default| !default.is_empty()) {
            Some(default) => format!("`{}` [{default}]", entry.key),
            None => format!("`{}`", entry.key),
        }
    })
    .collect()
}

/// The parameters' group of the console's form, below the model's; a template without such groups stays as it is.
fn with_parameter_group(lines: &mut Vec<String>, names: &Names, parameters: &[String]) {
    let label = format!("      - Label: {{default: {}}}", MODEL.prefix());
    let Some(at) = lines.iter().position(|line| *line == label) else { return };
    let own = lines[at + 1..].iter().take_while(|line| line.starts_with("        ")).count();
    let end = at + 1 + own;
    lines.splice(end..end, entry::parameter_group(&names.prefix, parameters));
}

/// Whether a name is a part of the model's.
fn is_models(name: &str) -> bool {
    is_of(name, MODEL.prefix())
}

/// Whether a name has a consumer's prefix in it as a word: `HasBillingRate`, and not `BillingMode` or `Billings`.
fn is_of(name: &str, prefix: &str) -> bool {
    let ends = |rest: &str| rest.bytes().next().is_none_or(|byte| !byte.is_ascii_lowercase());
    name != NOT_THE_MODEL && name.match_indices(prefix).any(|(at, _)| ends(&name[at + prefix.len()..]))
}

/// What becomes of the model's text in the copy.
struct Copy<'a> {
    names: &'a Names,
}

impl Copy<'_> {
    /// The copy of an entry of the model's; `None` for what is the model's alone.
    fn entry(&self, entry: &Entry) -> Result<Option<Entry>, MirrorError> {
        if entry.key == OWN_PARAMETER || OWN.iter().any(|own| entry.key.contains(own)) {
            return Ok(None);
        }
        let key = self.renamed(&entry.key);
        let lines = entry::without_items(&replaced(&entry.lines), |line| OWN.iter().any(|own| line.contains(own)));
        let mut lines: Vec<String> = lines.iter().map(|line| self.renamed(line)).collect();
        for (_, text) in DESCRIPTIONS.iter().filter(|(end, _)| key.ends_with(end)) {
            entry::describe(&mut lines, &text.replace("{job_type}", &self.names.job_type));
        }
        self.checked(lines).map(|lines| Some(Entry { key, lines }))
    }

    /// The text with the new consumer's names in the place of the model's.
    fn renamed(&self, text: &str) -> String {
        text.replace(MODEL.job_type(), &self.names.job_type)
            .replace(MODEL.prefix(), &self.names.prefix)
            .replace(&MODEL.name(), &self.names.name)
    }

    /// Nothing of what the model does may be left.
    fn checked(&self, lines: Vec<String>) -> Result<Vec<String>, MirrorError> {
        let is_left = |line: &&String| {
            let line = line.to_ascii_lowercase().replace(&self.names.job_type, "").replace(&self.names.name, "");
            ["payment", "charge"].iter().any(|word| line.contains(word))
        };
        match lines.iter().find(is_left) {
            Some(line) => Err(MirrorError::Leftover { line: line.trim().to_owned() }),
            None => Ok(lines),
        }
    }
}

fn replaced(lines: &[String]) -> Vec<String> {
    let replace = |line: &String| REPLACED.iter().fold(line.clone(), |line, (old, new)| line.replace(old, new));
    lines.iter().map(replace).collect()
}
