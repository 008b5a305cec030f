//! One unambiguous digest for everything that is made out of several texts.

use sha2::{Digest, Sha256};

/// Length of the digests in this crate: the first half of a SHA-256. 128 bits keep ids and items short; a second preimage costs 2^128.
pub(crate) const DIGEST_BYTES: usize = 16;

/// Characters that [`base32`] makes of a digest.
pub(crate) const BASE32_CHARS: usize = 26;

const BASE32_ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
const HEX_ALPHABET: &[u8; 16] = b"0123456789abcdef";

/// Digest over parts, each written as a netstring (`<length in bytes>:<bytes>,`).
///
/// The length in front makes the input unambiguous: `("ab", "c")` and `("a", "bc")` are different inputs.
pub(crate) fn of_parts(parts: &[&[u8]]) -> [u8; DIGEST_BYTES] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_string().as_bytes());
        hash.update(b":");
        hash.update(part);
        hash.update(b",");
    }
    first_half(&hash.finalize())
}

/// Digest over one text as it stands.
pub(crate) fn of_text(text: &str) -> [u8; DIGEST_BYTES] {
    first_half(&Sha256::digest(text.as_bytes()))
}

fn first_half(sha256: &[u8]) -> [u8; DIGEST_BYTES] {
    let mut half = [0; DIGEST_BYTES];
    half.copy_from_slice(&sha256[..DIGEST_BYTES]);
    half
}

/// Lower-case RFC 4648 base32 without padding: 26 characters.
pub(crate) fn base32(digest: &[u8; DIGEST_BYTES]) -> String {
    let bits = u128::from_be_bytes(*digest);
    // 26 characters carry 130 bits; RFC 4648 fills the last one up with zero bits on the right.
    (0..BASE32_CHARS)
        .map(|position| {
            let shift = 128 - 5 * (position as u32 + 1).min(25);
            let five = if position < 25 { bits >> shift } else { bits << 2 };
            char::from(BASE32_ALPHABET[(five & 31) as usize])
        })
        .collect()
}

/// Whether the text is what [`base32`] can have made: the last character carries three bits only, so just eight of them are possible.
pub(crate) fn is_base32(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() == BASE32_CHARS
        && bytes.iter().all(|byte| BASE32_ALPHABET.contains(byte))
        && matches!(bytes[BASE32_CHARS - 1], b'a' | b'e' | b'i' | b'm' | b'q' | b'u' | b'y' | b'4')
}

/// Lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(char::from(HEX_ALPHABET[usize::from(byte >> 4)]));
        text.push(char::from(HEX_ALPHABET[usize::from(byte & 15)]));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base32_is_the_one_of_rfc_4648() {
        // Python: base64.b32encode(bytes(range(16))).decode().rstrip("=").lower()
        let counting: [u8; 16] = std::array::from_fn(|index| index as u8);
        assert_eq!(base32(&counting), "aaaqeayeaudaocajbifqydiob4");
        assert_eq!(base32(&[0xff; 16]), "77777777777777777777777774");
        assert_eq!(base32(&[0; 16]), "aaaaaaaaaaaaaaaaaaaaaaaaaa");
    }

    #[test]
    fn only_canonical_base32_is_recognised() {
        assert!(is_base32("aaaqeayeaudaocajbifqydiob4"));
        assert!(!is_base32("aaaqeayeaudaocajbifqydiob5"), "stray bits at the end");
        assert!(!is_base32("AAAQEAYEAUDAOCAJBIFQYDIOB4"), "upper case");
        assert!(!is_base32("aaaqeayeaudaocajbifqydiob"), "too short");
        assert!(!is_base32("aaaqeayeaudaocajbifqydio14"), "1 is not in the alphabet");
    }

    #[test]
    fn shifted_part_boundaries_give_another_digest() {
        assert_ne!(of_parts(&[b"ab", b"c"]), of_parts(&[b"a", b"bc"]));
        assert_ne!(of_parts(&[b"ab"]), of_parts(&[b"ab", b""]));
        assert_ne!(of_parts(&[b"1:a,", b""]), of_parts(&[b"", b"1:a,"]));
    }

    #[test]
    fn hex_is_lower_case_with_leading_zeros() {
        assert_eq!(hex(&[0x00, 0x0a, 0xff]), "000aff");
    }
}
