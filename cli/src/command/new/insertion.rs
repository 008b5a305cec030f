//! Insertions into texts that others wrote, at places that are told apart by their lines. A place that is not there, or twice, is an error.

/// Why nothing could be inserted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum InsertionError {
    /// The line before which new consumers go.
    #[error("has {found} lines `{anchor}` where it should have one: new consumers are put above it")]
    Anchor { anchor: String, found: usize },
    /// A line of another consumer, after which new ones go.
    #[error("has no line like `{like}`: new consumers are put below the last one")]
    Like { like: String },
    /// A section of a page.
    #[error("has no section `{heading}`: it tells of every consumer")]
    Section { heading: String },
    /// A list of names in braces.
    #[error("has no `{opening}…}}`: the new consumer's payload is put into it")]
    Braces { opening: String },
}

/// Puts lines above the comment `ikkai new consumer: <what>`, as far in as the comment is.
pub(super) fn above_anchor(text: &str, what: &str, lines: &str) -> Result<String, InsertionError> {
    let anchor = format!("ikkai new consumer: {what}");
    let is_anchor = |line: &str| line.trim_end_matches(" -->").trim_end().ends_with(&anchor);
    let found = text.lines().filter(|line| is_anchor(line)).count();
    if found != 1 {
        return Err(InsertionError::Anchor { anchor, found });
    }
    let mut edited = String::with_capacity(text.len() + lines.len());
    for line in text.split_inclusive('\n') {
        if is_anchor(line.trim_end()) {
            let indentation = &line[..line.len() - line.trim_start().len()];
            lines.lines().for_each(|new| edited.extend([indentation, new, "\n"]));
        }
        edited.push_str(line);
    }
    Ok(edited)
}

/// Puts a line below the last line that has all of these parts, in this order.
pub(super) fn below_last(text: &str, parts: &[&str], new: &str) -> Result<String, InsertionError> {
    let is_like = |line: &&str| {
        let mut rest = *line;
        parts.iter().all(|part| rest.split_once(part).map(|(_, after)| rest = after).is_some())
    };
    let like = || InsertionError::Like { like: parts.join("…") };
    let last = text.lines().collect::<Vec<_>>().iter().rposition(is_like).ok_or_else(like)?;
    let mut edited = String::with_capacity(text.len() + new.len() + 1);
    for (index, line) in text.split_inclusive('\n').enumerate() {
        edited.push_str(line);
        if index == last {
            if !line.ends_with('\n') {
                edited.push('\n');
            }
            edited.extend([new, "\n"]);
        }
    }
    Ok(edited)
}

/// Puts a paragraph at the end of a page's section.
pub(super) fn at_end_of_section(text: &str, heading: &str, paragraph: &str) -> Result<String, InsertionError> {
    let missing = || InsertionError::Section { heading: heading.to_owned() };
    let at = text.find(&format!("\n{heading}\n")).ok_or_else(missing)? + 1;
    let end = text[at + heading.len()..].find("\n## ").map_or(text.len(), |next| at + heading.len() + next);
    let (section, rest) = text.split_at(end);
    Ok(format!("{}\n\n{paragraph}\n{rest}", section.trim_end()))
}

/// Adds a name to the list in braces that `opening` begins; rustfmt puts it into its place.
pub(super) fn into_braces(text: &str, opening: &str, name: &str) -> Result<String, InsertionError> {
    let missing = || InsertionError::Braces { opening: opening.to_owned() };
    let (before, rest) = text.split_once(opening).ok_or_else(missing)?;
    let (names, after) = rest.split_once('}').ok_or_else(missing)?;
    let names = names.trim_end().trim_end_matches(',');
    Ok(format!("{before}{opening}{names}, {name}}}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_go_above_their_anchor_as_far_in_as_it_is() {
        let text = "a\n    b,\n    // ikkai new consumer: thing\n]\n";
        assert_eq!(
            above_anchor(text, "thing", "c,\nd,").unwrap(),
            "a\n    b,\n    c,\n    d,\n    // ikkai new consumer: thing\n]\n"
        );
        let page = "| a |\n<!-- ikkai new consumer: row -->\n";
        assert_eq!(above_anchor(page, "row", "| b |").unwrap(), "| a |\n| b |\n<!-- ikkai new consumer: row -->\n");
    }

    #[test]
    fn a_missing_or_doubled_anchor_is_an_error() {
        for (text, found) in
            [("// ikkai new consumer: things\n", 0), ("// ikkai new consumer: thing\n// ikkai new consumer: thing\n", 2)]
        {
            let error = above_anchor(text, "thing", "x").unwrap_err();
            assert_eq!(error, InsertionError::Anchor { anchor: "ikkai new consumer: thing".into(), found });
        }
    }

    #[test]
    fn a_line_goes_below_the_last_that_is_like_it() {
        let text = "use a::A;\nuse b_consumer::BSettings;\nuse c_consumer::CSettings;\nuse d::D;";
        let edited = below_last(text, &["use ", "_consumer::", "Settings;"], "use e;").unwrap();
        assert_eq!(edited, "use a::A;\nuse b_consumer::BSettings;\nuse c_consumer::CSettings;\nuse e;\nuse d::D;");
        assert_eq!(below_last("use d::D;", &["use ", "::D;"], "use e;").unwrap(), "use d::D;\nuse e;\n");
        let backwards = below_last(text, &["Settings;", "use "], "x").unwrap_err();
        assert_eq!(backwards, InsertionError::Like { like: "Settings;…use ".into() });
    }

    #[test]
    fn a_paragraph_ends_its_section() {
        let page = "# Page\n\n## One\n\ntext\n\n## Two\n\nmore\n";
        assert_eq!(at_end_of_section(page, "## One", "new").unwrap(), "# Page\n\n## One\n\ntext\n\nnew\n\n## Two\n\nmore\n");
        assert_eq!(at_end_of_section(page, "## Two", "new").unwrap(), "# Page\n\n## One\n\ntext\n\n## Two\n\nmore\n\nnew\n");
        assert!(at_end_of_section(page, "## Three", "new").is_err());
    }

    #[test]
    fn a_name_joins_a_list_in_braces_on_one_line_or_several() {
        assert_eq!(into_braces("use a::{B, C};\n", "use a::{", "D").unwrap(), "use a::{B, C, D};\n");
        assert_eq!(into_braces("use a::{\n    B,\n    C,\n};\n", "use a::{", "D").unwrap(), "use a::{\n    B,\n    C, D};\n");
        assert!(into_braces("use a::B;\n", "use a::{", "D").is_err());
    }
}
