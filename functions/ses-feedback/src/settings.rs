//! The function's settings, read once.

use ikkai::config::Reader;

/// Everything an operator can turn on this function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// `IKKAI_SERVICE`: name in metrics, the function's own unless set.
    pub service: String,
    /// `IKKAI_METRICS_NAMESPACE`: namespace of the metrics, `Ikkai` unless set.
    pub metrics_namespace: String,
    /// `IKKAI_JOBS_TABLE`: where the job of a mail is looked up.
    pub jobs_table: String,
    /// `IKKAI_CONTACTS_TABLE`: where contacts are marked.
    pub contacts_table: String,
}

impl Settings {
    /// Reads the settings; problems are collected in `reader`, and what could not be read holds a placeholder.
    pub fn read(reader: &mut Reader) -> Self {
        Self {
            service: reader.service("ses-feedback"),
            metrics_namespace: reader.text("IKKAI_METRICS_NAMESPACE", "Ikkai"),
            jobs_table: reader.required_text("IKKAI_JOBS_TABLE"),
            contacts_table: reader.required_text("IKKAI_CONTACTS_TABLE"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_tables_are_required_and_reported_at_once() {
        let mut reader = Reader::from_pairs([("IKKAI_JOBS_TABLE", " ")]);
        let settings = Settings::read(&mut reader);
        let problems = reader.finish(settings).unwrap_err().to_string();
        assert!(problems.contains("IKKAI_JOBS_TABLE") && problems.contains("IKKAI_CONTACTS_TABLE"), "{problems}");
    }

    #[test]
    fn the_service_is_named_after_the_function_unless_it_is_set() {
        let read = |more: &[(&str, &str)]| {
            let tables = [("IKKAI_JOBS_TABLE", "jobs"), ("IKKAI_CONTACTS_TABLE", "contacts")];
            let mut reader = Reader::from_pairs(tables.iter().chain(more).copied());
            let settings = Settings::read(&mut reader);
            reader.finish(settings).unwrap()
        };
        let function = ("AWS_LAMBDA_FUNCTION_NAME", "shop-ses-feedback");
        assert_eq!(read(&[]).service, "ses-feedback");
        assert_eq!(read(&[function]).service, "shop-ses-feedback");
        assert_eq!(read(&[function, ("IKKAI_SERVICE", "feedback")]).service, "feedback");
        assert_eq!(read(&[]).metrics_namespace, "Ikkai");
    }
}
