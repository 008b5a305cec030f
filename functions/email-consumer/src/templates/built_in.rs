//! The templates that come with the function. A new one is three files and one entry here.

use super::{TemplateSource, Variable};

/// The entry for `templates/<id>/<locale>/{subject.txt,body.txt,body.html}`.
macro_rules! template {
    ($id:literal, $locale:literal, $variables:expr) => {
        TemplateSource {
            id: $id,
            locale: $locale,
            subject: include_str!(concat!("../../templates/", $id, "/", $locale, "/subject.txt")),
            text: include_str!(concat!("../../templates/", $id, "/", $locale, "/body.txt")),
            html: include_str!(concat!("../../templates/", $id, "/", $locale, "/body.html")),
            variables: $variables,
        }
    };
}

/// The contact's own name; every greeting does without it if there is none.
const DISPLAY_NAME: Variable = Variable::text("display_name").optional();

const WELCOME: &[Variable] = &[DISPLAY_NAME, Variable::link("start_url").optional()];
const RECEIPT: &[Variable] =
    &[DISPLAY_NAME, Variable::text("order_number"), Variable::text("total"), Variable::link("receipt_url")];
const PASSWORD_CHANGED: &[Variable] = &[DISPLAY_NAME, Variable::link("security_url")];

/// All of them, in all their locales.
pub const BUILT_IN: &[TemplateSource] = &[
    template!("password-changed", "en", PASSWORD_CHANGED),
    template!("receipt", "en", RECEIPT),
    template!("welcome", "de", WELCOME),
    template!("welcome", "en", WELCOME),
];
