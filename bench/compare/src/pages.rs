//! Recorded figures and the pages that show them. Nobody types a figure: a page's block is what the recorded JSON renders to.

use std::error::Error;
use std::fs;
use std::path::Path;

use crate::figures::Figures;
use crate::rows::Row;
use crate::table;

/// The recorded figures.
const RECORDED: &str = "bench/measured/compare.json";

/// What a page shows.
type Render = fn(&Figures, &[Row]) -> String;

/// The pages that show them.
const PAGES: [(&str, Render); 2] = [("bench/README.md", table::page), ("README.md", table::targets_page)];

const BEGIN: &str = "<!-- cargo compare: written by `cargo compare -- --record` -->\n";
const END: &str = "<!-- end of cargo compare -->";

/// Keeps the figures and writes the pages' blocks.
pub(crate) fn record(root: &Path, figures: &Figures, rows: &[Row]) -> Result<(), Box<dyn Error>> {
    let file = root.join(RECORDED);
    fs::create_dir_all(file.parent().unwrap_or(root))?;
    fs::write(file, figures.with_rows(rows)?)?;
    for (page, render) in PAGES {
        let path = root.join(page);
        let text = with_block(&fs::read_to_string(&path)?, &render(figures, rows));
        fs::write(&path, text.ok_or_else(|| format!("{page} has no block for the comparison: {BEGIN}"))?)?;
    }
    Ok(())
}

/// A page with this block; `None` where it has no place for one.
fn with_block(page: &str, block: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    let block = block.trim();
    let block = if block.is_empty() { String::new() } else { format!("\n{block}\n\n") };
    Some(format!("{before}{BEGIN}{block}{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::rows;

    #[test]
    fn only_the_block_is_written() {
        let page = format!("# Page\n\n{BEGIN}old\n{END}\n\nafter\n");
        let written = with_block(&page, "new\n").expect("a block");
        assert_eq!(written, format!("# Page\n\n{BEGIN}\nnew\n\n{END}\n\nafter\n"));
        assert_eq!(with_block(&written, "new\n"), Some(written.clone()));
        assert_eq!(with_block(&written, ""), Some(format!("# Page\n\n{BEGIN}{END}\n\nafter\n")));
        assert_eq!(with_block("# Page\n", "new\n"), None);
    }

    /// Without recorded figures a page shows none.
    #[test]
    fn every_page_shows_the_recorded_figures() {
        let root = crate::setup::root();
        let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        let recorded = root.join(RECORDED).exists().then(|| Figures::read(&read(RECORDED)).expect("recorded figures"));
        if let Some(figures) = &recorded {
            let written = figures.with_rows(&rows(figures)).expect("JSON");
            assert_eq!(written, read(RECORDED), "the recorded rows follow from the recorded figures");
        }
        for (page, render) in PAGES {
            let text = read(page);
            let block = recorded.as_ref().map_or_else(String::new, |figures| render(figures, &rows(figures)));
            let expected = with_block(&text, &block).expect("a block");
            assert!(
                expected == text,
                "{page} shows other figures than {RECORDED}: run `cargo compare -- --show {RECORDED} --record`"
            );
        }
    }
}
