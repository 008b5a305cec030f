use proptest::prelude::*;

use super::*;

fn variables(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

const RECEIPT: [(&str, &str); 4] = [
    ("display_name", "Jane"),
    ("order_number", "1001"),
    ("total", "€ 12.50"),
    ("receipt_url", "https://shop.example/r/1001?a=1&b=2"),
];

fn receipt_with(name: &str, value: &str) -> Result<Rendered, TemplateError> {
    let mut all = variables(&RECEIPT);
    all.insert(name.to_owned(), value.to_owned());
    Templates::built_in().unwrap().render("receipt", None, &all)
}

/// A set with one template whose HTML is `html` and whose one variable is the text `name`.
fn set_of(html: &'static str) -> Result<Templates, TemplateSetError> {
    const NAME_AND_LINK: &[Variable] = &[Variable::text("name"), Variable::link("url").optional()];
    set_with(html, NAME_AND_LINK)
}

fn set_with(html: &'static str, variables: &'static [Variable]) -> Result<Templates, TemplateSetError> {
    let subject = "{{ name }}";
    let text = if variables.len() > 1 { "{{ name }}{{ url }}" } else { "{{ name }}" };
    let source = TemplateSource { id: "t", locale: "en", subject, text, html, variables };
    Templates::new(Box::leak(Box::new([source])))
}

fn html_of(html: &'static str, name: &str) -> Result<String, TemplateError> {
    set_of(html).unwrap().render("t", None, &variables(&[("name", name)])).map(|rendered| rendered.html)
}

#[test]
fn the_built_in_templates_compile_and_render_with_all_and_with_only_the_required_variables() {
    let templates = Templates::built_in().unwrap();
    assert_eq!(templates.ids().collect::<Vec<_>>(), ["password-changed", "receipt", "welcome"]);
    for source in BUILT_IN {
        let value = |variable: &Variable| if variable.is_link { "https://example.com/x" } else { "Value" };
        let all: BTreeMap<_, _> = source.variables.iter().map(|v| (v.name.to_owned(), value(v).to_owned())).collect();
        let required: BTreeMap<_, _> =
            source.variables.iter().filter(|v| v.is_required).map(|v| (v.name.to_owned(), value(v).to_owned())).collect();
        for given in [all, required] {
            let mail = templates.render(source.id, Some(source.locale), &given).unwrap();
            for part in [&mail.subject, &mail.text, &mail.html] {
                assert!(!part.is_empty() && !part.contains(['{', '}']), "{}: {part}", source.id);
            }
            assert!(mail.html.contains(&format!("lang=\"{}\"", source.locale)));
        }
    }
}

#[test]
fn a_receipt_reads_as_it_should() {
    let mail = receipt_with("total", "€ 12.50").unwrap();
    assert_eq!(mail.subject, "Receipt for order 1001");
    assert_eq!(
        mail.text,
        "Hello Jane,\n\nthank you for your order.\n\nOrder: 1001\nTotal: € 12.50\n\nYour receipt: https://shop.example/r/1001?a=1&b=2"
    );
    assert!(mail.html.contains("<a href=\"https://shop.example/r/1001?a=1&amp;b=2\">Your receipt</a>"), "{}", mail.html);
}

#[test]
fn a_missing_or_blank_variable_is_named_before_anything_is_rendered() {
    for missing in ["order_number", "total", "receipt_url"] {
        let mut given = variables(&RECEIPT);
        given.remove(missing);
        let error = Templates::built_in().unwrap().render("receipt", None, &given).unwrap_err();
        assert_eq!(error, TemplateError::VariableMissing { template: "receipt", variable: missing });
        assert_eq!(error.code(), "template_variable_missing");
        assert!(error.to_string().contains(missing));
        assert_eq!(receipt_with(missing, " \n").unwrap_err(), error);
    }
}

#[test]
fn an_unknown_template_is_an_error_that_does_not_repeat_it() {
    let error = Templates::built_in().unwrap().render("../../etc/passwd", None, &BTreeMap::new()).unwrap_err();
    assert_eq!((error.code(), error.to_string().contains("passwd")), ("unknown_template", false));
}

#[test]
fn html_is_escaped_exactly_once_and_text_and_subject_never() {
    let name = "<b>\"O'Neil\" & Co</b> &amp;";
    let mail = receipt_with("order_number", name).unwrap();
    assert!(mail.html.contains("<td>&lt;b&gt;&quot;O&#39;Neil&quot; &amp; Co&lt;/b&gt; &amp;amp;</td>"), "{}", mail.html);
    assert!(mail.text.contains(&format!("Order: {name}\n")));
    assert_eq!(mail.subject, format!("Receipt for order {name}"));
}

#[test]
fn a_template_cannot_switch_escaping_off_nor_escape_twice() {
    let hostile = "<script>";
    assert_eq!(html_of("{% autoescape false %}{{ name }}{% endautoescape %}{{ url }}", hostile).unwrap(), "&lt;script&gt;");
    assert_eq!(
        html_of("{% set copy %}<i>{{ name }}</i>{% endset %}{{ copy }}{{ url }}", hostile).unwrap(),
        "<i>&lt;script&gt;</i>"
    );
    assert!(
        !html_of("{% autoescape false %}{% set c %}{{ name }}{% endset %}{{ c }}{% endautoescape %}{{ url }}", hostile)
            .unwrap()
            .contains('<')
    );
    for filter in ["{{ name | safe }}{{ url }}", "{{ name | escape }}{{ url }}", "{{ name | e }}{{ url }}"] {
        assert_eq!(html_of(filter, hostile).unwrap_err().code(), "template_broken", "{filter}");
    }
}

#[test]
fn variables_are_data_and_never_template_source() {
    let mail = receipt_with("order_number", "{{ total }}{% if %}").unwrap();
    assert_eq!(mail.subject, "Receipt for order {{ total }}{% if %}");
}

#[test]
fn links_that_are_not_plain_web_addresses_are_refused_by_name() {
    for hostile in [
        "javascript:alert(1)",
        "https://bank.example@evil.example/",
        "https://example.com/\r\nBcc: x",
        "/relative",
        "ftp://example.com",
    ] {
        let error = receipt_with("receipt_url", hostile).unwrap_err();
        assert_eq!(error.code(), "template_variable_not_a_link");
        let shown = error.to_string();
        assert!(shown.contains("\"receipt_url\"") && !shown.contains("evil") && !shown.contains("alert"), "{shown}");
    }
    // An optional link is checked too once it is there.
    let given = variables(&[("start_url", "javascript:alert(1)")]);
    assert_eq!(
        Templates::built_in().unwrap().render("welcome", None, &given).unwrap_err().code(),
        "template_variable_not_a_link"
    );
}

#[test]
fn the_link_filter_holds_back_what_was_not_declared_a_link() {
    assert_eq!(html_of("{{ name | link }}{{ url }}", "javascript:alert(1)").unwrap_err().code(), "template_broken");
    assert_eq!(html_of("{{ name | link }}{{ url }}", "https://example.com").unwrap(), "https://example.com");
}

#[test]
fn a_subject_is_one_line_whatever_the_variables_hold() {
    assert_eq!(
        receipt_with("order_number", "10\r\nBcc: x@example.com\n").unwrap().subject,
        "Receipt for order 10 Bcc: x@example.com"
    );
    assert_eq!(receipt_with("order_number", "a\u{2028}b\tc\0\u{85}d").unwrap().subject, "Receipt for order a b c d");
    assert_eq!(
        receipt_with("order_number", "全角\u{3000}空白 ☕  x").unwrap().subject,
        "Receipt for order 全角\u{3000}空白 ☕  x"
    );
}

#[test]
fn a_mistake_in_a_template_shows_when_the_set_is_made() {
    const NAME: &[Variable] = &[Variable::text("name")];
    const ONE_TOO_MANY: &[Variable] = &[Variable::text("name"), Variable::text("url"), Variable::text("more")];
    let problem = |result: Result<Templates, TemplateSetError>| result.unwrap_err().to_string();
    assert!(problem(set_of("{{ name")).contains("mistake in its html"));
    assert!(problem(set_of("{{ nam }}")).contains("\"nam\" without declaring it"));
    assert!(problem(set_with("x", ONE_TOO_MANY)).contains("\"more\" but does not use it"));
    assert!(problem(set_with("<a href={{ name }}>", NAME)).contains("without quotes"));
    assert!(problem(set_with("<a HREF='{{ name }}'>", NAME)).contains("double quotes"));
    assert!(problem(set_with("<a href=\"{{ name }}\">", NAME)).contains("with a declared link"));
    assert!(problem(set_with("<a href=\"{{ name | link }}\">", NAME)).contains("with a declared link"));
    assert!(problem(set_of("<a href=\"{{ url }}\">")).contains("with a declared link"));
    assert!(problem(set_of("<img src=\"https://example.com/{{ url | link }}\">")).contains("with a declared link"));
    assert!(set_of("<a href=\"{{ url | link }}\" title=\"{{ name }}\"><img src=\"https://example.com/logo.png\">").is_ok());
}

#[test]
fn every_template_has_the_default_locale_and_each_locale_once() {
    const ONE: TemplateSource = TemplateSource { id: "t", locale: "de", subject: "s", text: "t", html: "h", variables: &[] };
    const OTHER: TemplateSource = TemplateSource { locale: "en", ..ONE };
    assert!(Templates::new(&[ONE]).unwrap_err().to_string().contains("default locale"));
    assert!(Templates::new(&[OTHER, ONE, TemplateSource { locale: "DE", ..ONE }]).unwrap_err().to_string().contains("twice"));
    assert!(Templates::new(&[ONE, OTHER]).is_ok());
}

#[test]
fn the_closest_locale_is_used() {
    let templates = Templates::built_in().unwrap();
    let subject = |locale| templates.render("welcome", locale, &BTreeMap::new()).unwrap().subject;
    for (locale, expected) in [
        (None, "Welcome"),
        (Some("de"), "Willkommen"),
        (Some("de-AT"), "Willkommen"),
        (Some("DE_ch"), "Willkommen"),
        (Some("de-Latn-DE-x-a"), "Willkommen"),
        (Some("en-GB"), "Welcome"),
        (Some("ja"), "Welcome"),
        (Some(""), "Welcome"),
        (Some("-"), "Welcome"),
    ] {
        assert_eq!(subject(locale), expected, "{locale:?}");
    }
}

#[test]
fn debug_output_shows_nothing_of_the_content() {
    let shown = format!("{:?}", receipt_with("order_number", "secret-order").unwrap());
    assert!(!shown.contains("secret") && !shown.contains("Jane"), "{shown}");
}

proptest! {
    #[test]
    fn no_variable_can_open_a_tag_an_attribute_or_a_second_line(value in "\\PC{1,60}|[<>\"'&\r\n a-z]{1,60}") {
        prop_assume!(!value.trim().is_empty());
        let mail = receipt_with("order_number", &value).unwrap();
        let plain = receipt_with("order_number", "x").unwrap();
        for character in ['<', '>', '"', '\''] {
            prop_assert_eq!(mail.html.matches(character).count(), plain.html.matches(character).count());
        }
        prop_assert!(!mail.subject.chars().any(char::is_control));
        let unescaped = mail.html.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'").replace("&amp;", "&");
        let cell = format!("<td>{value}</td>");
        prop_assert!(unescaped.contains(&cell));
    }
}
