//! What a compiler writes while it works: what it is at goes to the progress, the rest is kept for an error.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};

use crate::progress::Step;

/// How many lines an error shows.
const ERROR_LINES: usize = 60;

/// Reads the output to its end. Returns its last lines, without those that say what is compiled.
pub(crate) fn follow(output: impl Read, step: &Step<'_>) -> String {
    let mut shown = VecDeque::with_capacity(ERROR_LINES);
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        if let Some(crate_name) = line.trim_start().strip_prefix("Compiling ") {
            step.detail(format!("compiling {crate_name}"));
            continue;
        }
        if shown.len() == ERROR_LINES {
            shown.pop_front();
        }
        shown.push_back(line);
    }
    Vec::from(shown).join("\n")
}
