//! Ikkai.
