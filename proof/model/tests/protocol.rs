//! The protocol holds within small bounds, and protocols that lack a rule do not.

use ikkai_model::Variant;
use ikkai_model::report::{check_scope, check_variant};
use ikkai_model::scope::QUICK;
use ikkai_model::why::page;

#[test]
fn every_promise_holds_in_every_state_within_small_bounds() {
    for scope in QUICK {
        let checked = check_scope(scope);
        assert!(checked.explorers_agree, "{}: the two explorers saw different things", scope.name);
        assert!(checked.broken.is_empty(), "{}: {:#?}", scope.name, checked.broken);
        assert!(checked.states > 1_000 && checked.ends > 0, "{}: {} states say nothing", scope.name, checked.states);
    }
}

#[test]
fn every_protocol_that_lacks_a_rule_is_found_broken_and_only_for_that() {
    let missed: Vec<_> =
        Variant::ALL.into_iter().map(check_variant).filter(|variant| !variant.is_caught).map(|variant| variant.name).collect();
    assert!(missed.is_empty(), "not caught, or broken with the rule too: {missed:?}");
}

#[test]
fn the_page_of_rules_shows_what_the_checker_finds() {
    let kept = include_str!("../../../docs/why.md");
    assert!(page() == kept, "docs/why.md is not what the checker finds: cargo model -- --why docs/why.md");
}
