//! Hashing for the maps that every move goes through. Keys are made here, so nobody can choose colliding ones.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

/// A map with quick hashing.
pub(crate) type QuickMap<K, V> = HashMap<K, V, BuildHasherDefault<Quick>>;

/// Multiplies and rotates, word by word.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Quick(u64);

const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hasher for Quick {
    fn finish(&self) -> u64 {
        // The map looks at the highest and the lowest bits.
        let folded = self.0 ^ (self.0 >> 32);
        folded.wrapping_mul(FACTOR) ^ (folded >> 29)
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.write_u64(u64::from(value));
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(23) ^ value).wrapping_mul(FACTOR);
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }

    fn write_isize(&mut self, value: isize) {
        self.write_u64(value.cast_unsigned() as u64);
    }
}

/// The hash of a value.
pub(crate) fn quick_hash<T: Hash>(value: &T) -> u64 {
    let mut hasher = Quick::default();
    value.hash(&mut hasher);
    hasher.finish()
}
