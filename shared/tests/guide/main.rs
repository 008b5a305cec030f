//! The consumer of `docs/add-a-consumer.md`: it compiles, its tests pass, and the page shows this very code.

#![allow(unreachable_pub, reason = "in a library, as the guide shows it, these items are public")]

#[allow(dead_code, reason = "the function of the guide is compiled here, not run")]
mod function;
mod handler;
mod long_job;
mod payload;
mod tests;
mod uploads;

const GUIDE: &str = include_str!("../../../docs/add-a-consumer.md");
const TEMPLATE: &str = include_str!("../../../infra/template.yaml");

const SOURCES: [&str; 6] = [
    include_str!("payload.rs"),
    include_str!("handler.rs"),
    include_str!("function.rs"),
    include_str!("tests.rs"),
    include_str!("uploads.rs"),
    include_str!("long_job.rs"),
];

fn blocks(language: &str) -> Vec<&'static str> {
    let start = format!("```{language}\n");
    GUIDE.split(start.as_str()).skip(1).map(|rest| rest.split("```").next().unwrap_or_default()).collect()
}

#[test]
fn the_guide_shows_the_code_that_is_tested_here() {
    let shown = blocks("rust");
    assert!(shown.len() >= SOURCES.len(), "{} blocks", shown.len());
    for block in shown {
        assert!(SOURCES.iter().any(|source| source.contains(block)), "not in shared/tests/guide/:\n{block}");
    }
}

#[test]
fn the_guide_names_what_the_template_has() {
    let resources: Vec<&str> = GUIDE.split('`').filter(|name| name.starts_with("Email")).collect();
    assert!(resources.len() > 5, "{resources:?}");
    for name in resources {
        assert!(TEMPLATE.contains(&format!("\n  {name}:\n")), "infra/template.yaml has no `{name}`");
    }
}
