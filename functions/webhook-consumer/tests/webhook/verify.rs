use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

fn is_genuine(header: &str, body: &[u8], key: &str, tolerance: Duration) -> bool {
    let parts = || header.split(',').filter_map(|part| part.split_once('='));
    let Some((_, signed_at)) = parts().find(|(name, _)| *name == "t") else { return false };
    let Ok(seconds) = signed_at.parse() else { return false };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    if now.abs_diff(Duration::from_secs(seconds)) > tolerance {
        return false;
    }
    let signs = |signature: &str| {
        let mut mac = Hmac::<Sha256>::new_from_slice(key.as_bytes()).expect("HMAC takes a key of any length");
        mac.update(signed_at.as_bytes());
        mac.update(b".");
        mac.update(body);
        let bytes: Option<Vec<u8>> =
            (0..signature.len()).step_by(2).map(|at| u8::from_str_radix(signature.get(at..at + 2)?, 16).ok()).collect();
        bytes.is_some_and(|bytes| mac.verify_slice(&bytes).is_ok())
    };
    parts().any(|(name, signature)| name == "v1" && signs(signature))
}
