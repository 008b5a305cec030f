//! The tables of `docs/cost.md`, which are written from what was counted and from list prices, and from nothing else.
//!
//! [`pattern`] says which calls a job makes in each way of doing it, [`month`] what is paid while nothing happens, [`managed`] what others take for a job,
//! [`prices`] what each unit costs, beside those of [`crate::demo::prices`]. The page's text is written by hand; its tables stand between
//! markers and are compared with what is computed here.

mod block;
mod managed;
mod month;
mod pattern;
mod prices;
mod table;

use block::Block;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/cost.md");

/// Set to write the tables into the page.
const UPDATE_VARIABLE: &str = "IKKAI_UPDATE_COSTS";

/// Every table, by the name in its markers.
fn blocks() -> Vec<Block> {
    let run = pattern::MeasuredRun::read();
    vec![
        Block { name: "run", text: pattern::told(&run) },
        Block { name: "patterns", text: pattern::table(&run) },
        Block { name: "other-ways", text: pattern::other_ways() },
        Block { name: "idle", text: month::idle() },
        Block { name: "container", text: month::container(&run) },
        Block { name: "months", text: month::months(&run) },
        Block { name: "managed", text: managed::table() },
        Block { name: "prices", text: prices::table() },
    ]
}

#[test]
fn the_page_about_costs_has_the_tables_of_what_was_counted_and_of_the_prices() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let written = blocks().iter().fold(page.clone(), |page, block| block.put_into(&page));
    if std::env::var_os(UPDATE_VARIABLE).is_some() {
        std::fs::write(PAGE, &written).unwrap();
        return;
    }
    assert!(page == written, "docs/cost.md is not what is computed; `{UPDATE_VARIABLE}=1 cargo test costs` writes its tables");
}
