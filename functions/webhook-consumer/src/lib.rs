//! Ikkai's webhook consumer: tells a caller's URL, signed, what became of a job.
