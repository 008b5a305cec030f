//! The functions that are measured, and the environment that each is given.

/// A function: a package whose binary has the same name.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) variables: &'static [(&'static str, &'static str)],
}

/// All functions.
pub(crate) const FUNCTIONS: &[Function] = &[Function {
    name: "email-consumer",
    variables: &[
        ("IKKAI_JOBS_TABLE", "jobs"),
        ("IKKAI_QUEUE_NAME", "email"),
        ("IKKAI_MAX_RECEIVE_COUNT", "8"),
        ("IKKAI_FUNCTION_TIMEOUT_SECONDS", "30"),
        ("IKKAI_CONTACTS_TABLE", "contacts"),
        ("IKKAI_EMAIL_FROM", "no-reply@example.com"),
        // Init's own cost is asked for here, not that of the calls that warm connections up.
        ("IKKAI_WARM_UP", "off"),
    ],
}];
