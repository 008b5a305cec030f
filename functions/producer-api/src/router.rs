//! Paths and methods.

/// What a path names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Resource {
    /// `/v1/jobs`
    Jobs,
    /// `/v1/jobs/batch`
    Batch,
    /// `/v1/jobs/{id}`
    Job(String),
}

/// Segments that may stand in front of `/v1`: a stage, or the base path of a custom domain, or both.
const MAX_PREFIX_SEGMENTS: usize = 3;

impl Resource {
    /// Reads a path. HTTP APIs put the stage's name in front of it, custom domains their base path; a slash at the end is allowed.
    pub(crate) fn of_path(path: &str) -> Option<Self> {
        let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
        let start =
            (0..=MAX_PREFIX_SEGMENTS).find(|&start| segments.get(start..start + 2).is_some_and(|pair| pair == ["v1", "jobs"]))?;
        match segments[start + 2..] {
            [] => Some(Self::Jobs),
            ["batch"] => Some(Self::Batch),
            [id] => Some(Self::Job(id.to_owned())),
            _ => None,
        }
    }

    /// The methods that it takes.
    pub(crate) const fn allow(&self) -> &'static str {
        match self {
            Self::Jobs | Self::Batch => "POST, OPTIONS",
            Self::Job(_) => "GET, HEAD, DELETE, OPTIONS",
        }
    }

    /// The path as it may stand in a log.
    pub(crate) const fn template(&self) -> &'static str {
        match self {
            Self::Jobs => "/v1/jobs",
            Self::Batch => "/v1/jobs/batch",
            Self::Job(_) => "/v1/jobs/{id}",
        }
    }
}

/// The method as it may stand in a log: clients may send anything.
pub(crate) fn method_label(method: &str) -> &'static str {
    const KNOWN: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    KNOWN.into_iter().find(|known| *known == method).unwrap_or("other")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_base_paths_and_slashes_at_the_end_make_no_difference() {
        for path in ["/v1/jobs", "/v1/jobs/", "/dev/v1/jobs", "/v1/v1/jobs/", "/base/path/dev/v1/jobs"] {
            assert_eq!(Resource::of_path(path), Some(Resource::Jobs), "{path}");
        }
        assert_eq!(Resource::of_path("/dev/v1/jobs/batch/"), Some(Resource::Batch));
        assert_eq!(Resource::of_path("/v1/jobs/email.send-x"), Some(Resource::Job("email.send-x".to_owned())));
    }

    #[test]
    fn other_paths_name_nothing() {
        for path in ["", "/", "/v1", "/jobs", "/v2/jobs", "/v1/job", "/v1/jobs/a/b", "/a/b/c/d/v1/jobs", "v1 jobs"] {
            assert_eq!(Resource::of_path(path), None, "{path}");
        }
    }
}
