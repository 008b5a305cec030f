//! Tokens that repeat themselves.

/// Takes everything that is random in the kit on this thread from `seed` from now on: tokens, salts, jitter. `None`: from the operating system
/// again. What runs on one thread, on tokio's paused time, then runs in the same way every time.
pub fn seed_tokens(seed: Option<u64>) {
    crate::token::seeded::set(seed);
    // What fastrand forks of its own generator would repeat itself too.
    fastrand::seed(seed.unwrap_or_else(|| crate::token::unique().as_u64_pair().0));
}
