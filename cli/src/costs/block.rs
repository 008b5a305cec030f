//! A part of the page that is computed.

/// Stands in the page between `<!-- table: NAME -->` and `<!-- end -->`.
pub(super) struct Block {
    pub(super) name: &'static str,
    pub(super) text: String,
}

impl Block {
    /// The page with this block in its place.
    ///
    /// # Panics
    /// When the page has no such place, or two.
    pub(super) fn put_into(&self, page: &str) -> String {
        let begins = format!("<!-- table: {} -->\n", self.name);
        let pieces: Vec<_> = page.split(&begins).collect();
        let [before, rest] = pieces[..] else { panic!("the page has to hold {begins:?} once") };
        let (_, after) = rest.split_once("<!-- end -->").unwrap_or_else(|| panic!("{begins:?} has no end"));
        format!("{before}{begins}\n{}\n\n<!-- end -->{after}", self.text.trim_end())
    }
}

#[test]
fn a_block_takes_the_place_of_what_stood_there() {
    let page = "a\n<!-- table: x -->\nold\n<!-- end -->\nb\n<!-- table: y -->\nkept\n<!-- end -->\n";
    let block = Block { name: "x", text: "new\n".to_owned() };
    let written = block.put_into(page);
    assert_eq!(written, "a\n<!-- table: x -->\n\nnew\n\n<!-- end -->\nb\n<!-- table: y -->\nkept\n<!-- end -->\n");
    assert_eq!(block.put_into(&written), written);
}
