//! The new files: texts with placeholders.

use super::effect::Effect;
use super::names::Names;

/// A new file: its path and its text, both with placeholders.
pub(super) struct NewFile {
    path: &'static str,
    text: &'static str,
}

/// What a consumer consists of, besides what is inserted into files that are there.
pub(super) const FILES: [NewFile; 12] = [
    NewFile { path: "functions/@name@-consumer/Cargo.toml", text: include_str!("files/Cargo.toml.txt") },
    NewFile { path: "functions/@name@-consumer/README.md", text: include_str!("files/README.md.txt") },
    NewFile { path: "functions/@name@-consumer/events/@name@.json", text: include_str!("files/event.json.txt") },
    NewFile { path: "functions/@name@-consumer/src/handler.rs", text: include_str!("files/handler.rs.txt") },
    NewFile { path: "functions/@name@-consumer/src/lib.rs", text: include_str!("files/lib.rs.txt") },
    NewFile { path: "functions/@name@-consumer/src/main.rs", text: include_str!("files/main.rs.txt") },
    NewFile { path: "functions/@name@-consumer/src/provider.rs", text: include_str!("files/provider.rs.txt") },
    NewFile { path: "functions/@name@-consumer/src/settings.rs", text: include_str!("files/settings.rs.txt") },
    NewFile { path: "functions/@name@-consumer/tests/provider.rs", text: include_str!("files/tests.rs.txt") },
    NewFile { path: "shared/src/job/payloads/@payload_module@.rs", text: include_str!("files/payload.rs.txt") },
    NewFile { path: "shared/schemas/@job_type@.v1.json", text: include_str!("files/schema.json.txt") },
    NewFile { path: "cli/src/demo/consumers/@name@.rs", text: include_str!("files/demo.rs.txt") },
];

/// The test on an engine: beside the others, in the package of the tests.
pub(super) const ENGINE_TEST: NewFile =
    NewFile { path: "tests/tests/engine/@name@.rs", text: include_str!("files/engine.rs.txt") };

impl NewFile {
    /// Path and text for this consumer.
    pub(super) fn rendered(&self, names: &Names, effect: Effect) -> (String, String) {
        (render(self.path, names, effect), render(self.text, names, effect))
    }
}

/// The text with every placeholder filled in. What the effect's texts bring may hold names.
pub(super) fn render(text: &str, names: &Names, effect: Effect) -> String {
    let crate_name = names.package().replace('-', "_");
    let of_names = [
        ("name", names.name.as_str()),
        ("Prefix", names.prefix.as_str()),
        ("job_type", names.job_type.as_str()),
        ("Payload", names.payload.as_str()),
        ("payload_module", names.payload_module.as_str()),
        ("crate", crate_name.as_str()),
    ];
    let fill = |text: String, (name, value): (&str, &str)| text.replace(&format!("@{name}@"), value);
    let text = effect.texts().into_iter().fold(text.to_owned(), fill);
    of_names.into_iter().fold(text, fill)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_placeholder_is_left_in_any_file() {
        let names = Names::new("sms", Some("sms.bulk_send")).unwrap();
        for effect in [Effect::Hold, Effect::Rerun] {
            for file in FILES.iter().chain([&ENGINE_TEST]) {
                let (path, text) = file.rendered(&names, effect);
                assert!(!path.contains('@') && !text.contains('@'), "{path}");
                assert!(text.ends_with('\n') && !text.contains("\n\n\n"), "{path}");
            }
        }
    }

    #[test]
    fn the_schema_file_is_what_the_payload_says() {
        let names = Names::new("sms", None).unwrap();
        let (path, text) = FILES[10].rendered(&names, Effect::Hold);
        assert_eq!(path, "shared/schemas/sms.send.v1.json");
        let schema: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(schema["title"], "SmsSend");
        // As the file of every payload is written: the members in order, and a line's end.
        assert_eq!(text, serde_json::to_string_pretty(&schema).unwrap() + "\n");
    }
}
