use std::path::{Path, PathBuf};

use super::*;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// What stands in the checkout's own files is what the command expects there: this test fails where an anchor was lost.
#[test]
fn a_consumer_can_be_added_to_this_checkout() {
    for (effect, job_type) in [(Effect::Hold, None), (Effect::Rerun, Some("trial.bulk_send"))] {
        let names = Names::new("trial", job_type).unwrap();
        let changes = prepared(&root(), &names, effect).unwrap();
        let created: Vec<_> = changes.created().collect();
        assert!(created.contains(&"functions/trial-consumer/src/handler.rs"), "{created:?}");
        for path in ["Cargo.toml", "infra/template.yaml", "cli/src/local/consumers.rs", "README.md"] {
            assert!(changes.text(path).is_some_and(|text| text.contains("trial") || text.contains("Trial")), "{path}");
        }
        for (path, text) in changes.texts().filter(|(path, _)| path.ends_with(".rs")) {
            assert_eq!(rustfmt::formatted(&root(), text).unwrap(), text, "{path} is formatted");
        }
        assert!(!root().join("functions/trial-consumer").exists(), "nothing is written");
    }
}

#[test]
fn what_is_there_is_refused() {
    let checkout = Checkout::around(&root()).unwrap();
    let refused = |name: &str, job_type| refuse_taken(&checkout, &Names::new(name, job_type).unwrap()).unwrap_err().to_string();
    assert!(refused("email", Some("email.other")).contains("functions/email-consumer"));
    assert!(refused("mail", Some("email.send")).contains("`email.send`"));
    assert!(refuse_taken(&checkout, &Names::new("trial", None).unwrap()).is_ok());
}
