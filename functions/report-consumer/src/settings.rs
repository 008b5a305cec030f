//! The settings that only this consumer has.

use ikkai::config::Reader;

/// Settings of the report consumer, besides those that every consumer has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportSettings {
    /// `IKKAI_REPORTS_BUCKET`: where reports are written, and drafts under `work/`.
    pub bucket: String,
    /// `IKKAI_REPORTS_PREFIX`: what the reports' keys begin with, `reports/` unless set.
    pub prefix: String,
    /// `IKKAI_ACCOUNT_INDEX`: the jobs table's index by account and time of acceptance, `account-created` unless set.
    pub account_index: String,
}

/// Time that a report needs for more than its first page: less, and a run would do nothing but begin and end.
const LEAST_FUNCTION_TIMEOUT_SECONDS: u64 = 10;

impl ReportSettings {
    /// Reads the settings; problems are collected in `reader`, and what could not be read holds a placeholder.
    pub fn read(reader: &mut Reader) -> Self {
        check_function_timeout(reader);
        Self {
            bucket: reader.required_text("IKKAI_REPORTS_BUCKET"),
            prefix: read_prefix(reader),
            account_index: reader.text("IKKAI_ACCOUNT_INDEX", "account-created"),
        }
    }
}

fn read_prefix(reader: &mut Reader) -> String {
    const NAME: &str = "IKKAI_REPORTS_PREFIX";
    let prefix = reader.text(NAME, "reports/");
    let is_prefix = prefix.ends_with('/')
        && !prefix.starts_with('/')
        && prefix.len() <= 200
        && prefix.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte));
    if !is_prefix {
        reader.problem(
            NAME,
            "is no prefix of keys; use up to 200 letters, digits and . _ - / with a slash at the end, none at the start",
        );
    } else if prefix.starts_with("work/") {
        reader.problem(NAME, "begins with work/, where drafts are kept and removed after a while; use another prefix");
    }
    prefix
}

fn check_function_timeout(reader: &mut Reader) {
    const NAME: &str = "IKKAI_FUNCTION_TIMEOUT_SECONDS";
    // Required of every consumer and checked there; a problem is not to be reported twice.
    let seconds: Option<u64> = reader.optional_text(NAME).and_then(|text| text.parse().ok());
    if seconds.is_some_and(|seconds| (1..LEAST_FUNCTION_TIMEOUT_SECONDS).contains(&seconds)) {
        reader
            .problem(NAME, format!("leaves no time for a report; give the function {LEAST_FUNCTION_TIMEOUT_SECONDS} s at least"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUIRED: [(&str, &str); 2] = [("IKKAI_REPORTS_BUCKET", "reports"), ("IKKAI_FUNCTION_TIMEOUT_SECONDS", "300")];

    fn read(variables: &[(&str, &str)]) -> Result<ReportSettings, Vec<String>> {
        // A later value replaces an earlier one.
        let mut reader = Reader::from_pairs(REQUIRED.iter().chain(variables).copied());
        let settings = ReportSettings::read(&mut reader);
        reader.finish(settings).map_err(|error| error.problems().iter().map(ToString::to_string).collect())
    }

    #[test]
    fn only_the_bucket_is_required() {
        let settings = read(&[]).unwrap();
        assert_eq!((settings.bucket.as_str(), settings.prefix.as_str()), ("reports", "reports/"));
        assert_eq!(settings.account_index, "account-created");
        let settings = read(&[("IKKAI_REPORTS_PREFIX", "a/b_c-d.e/"), ("IKKAI_ACCOUNT_INDEX", "by-account")]).unwrap();
        assert_eq!((settings.prefix.as_str(), settings.account_index.as_str()), ("a/b_c-d.e/", "by-account"));
    }

    #[test]
    fn every_problem_is_reported_at_once() {
        let problems =
            read(&[("IKKAI_REPORTS_BUCKET", ""), ("IKKAI_REPORTS_PREFIX", "/a"), ("IKKAI_FUNCTION_TIMEOUT_SECONDS", "9")]);
        assert_eq!(
            problems.unwrap_err(),
            [
                "IKKAI_FUNCTION_TIMEOUT_SECONDS: leaves no time for a report; give the function 10 s at least",
                "IKKAI_REPORTS_BUCKET: is not set; set it to a text",
                "IKKAI_REPORTS_PREFIX: is no prefix of keys; use up to 200 letters, digits and . _ - / with a slash at the end, none at \
                 the start",
            ]
        );
    }

    #[test]
    fn a_prefix_is_no_place_for_drafts_and_nothing_that_needs_quoting() {
        for prefix in ["work/", "work/reports/", "reports", "/reports/", "re ports/", "räports/", "a\"/"] {
            assert_eq!(read(&[("IKKAI_REPORTS_PREFIX", prefix)]).map_err(|problems| problems.len()), Err(1), "{prefix}");
        }
    }
}
