//! Ikkai's bounce and complaint reader: contacts whose mail bounces for good, or who complain, get no more mail.
