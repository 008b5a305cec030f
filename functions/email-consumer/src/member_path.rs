//! How errors name a member of a map that somebody else filled.

/// `parent.name`, or `parent` alone when the name does not look like one: a map that is keyed by personal data must not spell it
/// out in an error.
pub(crate) fn member_path(parent: &str, name: &str) -> String {
    let is_name = name.len() <= 64 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if is_name { format!("{parent}.{name}") } else { parent.to_owned() }
}
