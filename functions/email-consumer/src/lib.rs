//! Email.
