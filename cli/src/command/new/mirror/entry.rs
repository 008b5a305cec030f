//! A template's text in pieces: headlines, the entries of its sections, and the rest. Joined, the pieces are the text again.

/// A piece of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// `# ---- Title ----`.
    Headline(String, String),
    /// An entry of a section.
    Entry(Entry),
    /// Any other line.
    Other(String),
}

impl Piece {
    /// How many lines it has.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Entry(entry) => entry.lines.len(),
            Self::Headline(..) | Self::Other(_) => 1,
        }
    }
}

/// A parameter, a condition, a resource, an output: whatever is two blanks in, with the comment above it and the empty line below.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) lines: Vec<String>,
}

/// What stands under one headline, or under none.
pub(super) struct Group<'a> {
    /// `Parameters`, `Resources`.
    pub(super) section: String,
    /// Of its headline.
    pub(super) title: Option<&'a str>,
    pub(super) pieces: Vec<&'a Piece>,
}

/// Cuts a template up.
pub(super) fn pieces(template: &str) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut comment: Vec<String> = Vec::new();
    for line in template.lines() {
        let open = match pieces.last_mut() {
            Some(Piece::Entry(entry)) => Some(entry),
            _ => None,
        };
        if let Some(title) = title(line) {
            pieces.extend(comment.drain(..).map(Piece::Other));
            pieces.push(Piece::Headline(title.to_owned(), line.to_owned()));
        } else if line.starts_with("  #") && !line.starts_with("   ") {
            comment.push(line.to_owned());
        } else if let Some(key) = key(line) {
            let lines = comment.drain(..).chain([line.to_owned()]).collect();
            pieces.push(Piece::Entry(Entry { key: key.to_owned(), lines }));
        } else if let Some(entry) = open.filter(|_| comment.is_empty() && (line.is_empty() || line.starts_with("   "))) {
            entry.lines.push(line.to_owned());
        } else {
            pieces.extend(comment.drain(..).map(Piece::Other));
            pieces.push(Piece::Other(line.to_owned()));
        }
    }
    pieces.extend(comment.into_iter().map(Piece::Other));
    pieces
}

/// The pieces by the headline that they stand under; a new section begins a group too.
pub(super) fn groups(pieces: &[Piece]) -> Vec<Group<'_>> {
    let mut groups = vec![Group { section: String::new(), title: None, pieces: Vec::new() }];
    for piece in pieces {
        let section = groups.last().map_or_else(String::new, |group| group.section.clone());
        match piece {
            Piece::Headline(title, _) => groups.push(Group { section, title: Some(title), pieces: Vec::new() }),
            Piece::Other(line) if line.ends_with(':') && line.starts_with(|first: char| first.is_ascii_alphabetic()) => {
                let section = line.trim_end_matches(':').to_owned();
                groups.push(Group { section, title: None, pieces: Vec::new() });
            }
            Piece::Entry(_) | Piece::Other(_) => {}
        }
        if let Some(group) = groups.last_mut() {
            group.pieces.push(piece);
        }
    }
    groups
}

/// The entries among pieces.
pub(super) fn entries(pieces: &[Piece]) -> impl Iterator<Item = &Entry> {
    pieces.iter().filter_map(|piece| match piece {
        Piece::Entry(entry) => Some(entry),
        Piece::Headline(..) | Piece::Other(_) => None,
    })
}

/// A headline as the templates have them.
pub(super) fn headline(title: &str) -> String {
    const WIDTH: usize = 123;
    let begun = format!("  # ---- {title} ");
    format!("{begun}{}", "-".repeat(WIDTH.saturating_sub(begun.len())))
}

/// A group of the console's form.
pub(super) fn parameter_group(title: &str, parameters: &[String]) -> Vec<String> {
    const WIDTH: usize = 130;
    let mut lines = vec![format!("      - Label: {{default: {title}}}"), "        Parameters:".to_owned()];
    let mut line = "          [".to_owned();
    for (index, parameter) in parameters.iter().enumerate() {
        let end = if index + 1 == parameters.len() { "]" } else { "," };
        if line.len() + parameter.len() + 2 > WIDTH {
            lines.push(line.trim_end().to_owned());
            line = "           ".to_owned();
        }
        line.push_str(parameter);
        line.push_str(end);
        line.push(' ');
    }
    lines.push(line.trim_end().to_owned());
    lines
}

/// The lines without those items that a line of theirs is unwanted in: the line, and what is further in below it.
pub(super) fn without_items(lines: &[String], unwanted: impl Fn(&str) -> bool) -> Vec<String> {
    let mut kept = Vec::new();
    let mut dropped: Option<usize> = None;
    for line in lines {
        let depth = depth(line);
        if dropped.is_some_and(|item| depth > item && !line.is_empty()) {
            continue;
        }
        dropped = unwanted(line).then_some(depth);
        if dropped.is_none() {
            kept.push(line.clone());
        }
    }
    kept
}

/// Gives an entry's outermost `Description` another text, as one line or folded.
pub(super) fn describe(lines: &mut Vec<String>, text: &str) {
    const WIDTH: usize = 130;
    let is_description = |line: &&String| line.trim_start().starts_with("Description:");
    let Some(at) = lines.iter().enumerate().filter(|(_, line)| is_description(line)).min_by_key(|(_, line)| depth(line)) else {
        return;
    };
    let (at, indentation) = (at.0, depth(at.1));
    let deeper = lines[at + 1..].iter().take_while(|line| depth(line) > indentation && !line.is_empty()).count();
    let blanks = " ".repeat(indentation);
    let mut described = vec![format!("{blanks}Description: {text}")];
    if described[0].len() > WIDTH {
        described = vec![format!("{blanks}Description: >-")];
        let mut line = String::new();
        for word in text.split(' ') {
            if !line.is_empty() && indentation + 2 + line.len() + 1 + word.len() > WIDTH {
                described.push(format!("{blanks}  {line}"));
                line.clear();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        described.push(format!("{blanks}  {line}"));
    }
    lines.splice(at..=at + deeper, described);
}

fn depth(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn title(line: &str) -> Option<&str> {
    Some(line.strip_prefix("  # ---- ")?.trim_end_matches('-').trim_end())
}

/// The key of an entry: a name two blanks in.
fn key(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("  ")?;
    let (key, _) = rest.split_once(':')?;
    (!key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric())).then_some(key)
}
