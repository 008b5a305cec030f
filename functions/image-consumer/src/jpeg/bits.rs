//! The bits of a scan.

use super::{malformed, truncated};
use crate::picture_error::PictureError;

/// Reads entropy-coded bits. At a marker or the end of the data it goes on with zeros, so that nothing has to be checked for each bit, and
/// remembers how many were made up: whoever used one of them has a truncated picture.
pub(super) struct BitReader<'a> {
    data: &'a [u8],
    /// The next byte that is not in `bits` yet.
    position: usize,
    /// The next bit is the highest.
    bits: u64,
    /// How many of them count.
    count: u32,
    /// How many zeros were made up since the last restart.
    made_up: u32,
}

/// Enough for a Huffman code (16 bits) and the value behind it (at most 15).
const ENOUGH: u32 = 32;

impl<'a> BitReader<'a> {
    pub(super) fn new(data: &'a [u8], position: usize) -> Self {
        Self { data, position, bits: 0, count: 0, made_up: 0 }
    }

    /// Makes sure that a code and its value can be taken.
    #[inline(always)]
    pub(super) fn prepare(&mut self) {
        if self.count < ENOUGH {
            self.refill();
        }
    }

    /// The next bits without taking them; `length` is 1 to 16.
    #[inline(always)]
    pub(super) fn peek(&self, length: u32) -> usize {
        (self.bits >> (64 - length)) as usize
    }

    #[inline(always)]
    pub(super) fn skip(&mut self, length: u32) {
        self.bits <<= length;
        self.count = self.count.wrapping_sub(length);
    }

    /// Takes 0 to 16 bits.
    #[inline(always)]
    pub(super) fn take(&mut self, length: u32) -> u32 {
        if length == 0 {
            return 0;
        }
        let value = (self.bits >> (64 - length)) as u32;
        self.skip(length);
        value
    }

    /// Takes one bit and prepares by itself.
    #[inline(always)]
    pub(super) fn take_bit(&mut self) -> bool {
        self.prepare();
        self.take(1) == 1
    }

    /// Takes a value of `length` bits in the form of T.81, F.2.2.1.
    #[inline(always)]
    pub(super) fn take_signed(&mut self, length: u32) -> i32 {
        signed(self.take(length), length)
    }

    fn refill(&mut self) {
        let next = self.data.get(self.position..self.position + 8).and_then(|bytes| <[u8; 8]>::try_from(bytes).ok());
        if let Some(word) = next.map(u64::from_be_bytes).filter(|word| !has_byte_ff(*word)) {
            self.bits |= word >> self.count;
            self.position += ((63 - self.count) >> 3) as usize;
            self.count |= 56;
            return;
        }
        while self.count <= 56 {
            let byte = self.next_byte();
            self.bits |= u64::from(byte) << (56 - self.count);
            self.count += 8;
        }
    }

    /// The next byte of data; a zero before a marker and at the end.
    fn next_byte(&mut self) -> u8 {
        match (self.data.get(self.position), self.data.get(self.position + 1)) {
            (Some(0xff), Some(0)) => {
                self.position += 2;
                0xff
            }
            (Some(0xff) | None, _) => {
                self.made_up += 8;
                0
            }
            (Some(&byte), _) => {
                self.position += 1;
                byte
            }
        }
    }

    /// An error when bits were used that are not in the data.
    pub(super) fn check(&self) -> Result<(), PictureError> {
        if self.made_up > self.count { Err(truncated()) } else { Ok(()) }
    }

    /// Goes past the restart marker with this number (T.81, F.1.2.3).
    pub(super) fn restart(&mut self, number: u8) -> Result<(), PictureError> {
        self.check()?;
        let marker = self.find_marker()?;
        if marker != 0xd0 + number {
            return Err(malformed("a restart marker is missing"));
        }
        *self = Self::new(self.data, self.position + 2);
        Ok(())
    }

    /// Ends the scan: where its closing marker stands.
    pub(super) fn finish(&self) -> Result<usize, PictureError> {
        self.check()?;
        Ok(self.position)
    }

    /// Moves to the next marker.
    fn find_marker(&mut self) -> Result<u8, PictureError> {
        loop {
            match (self.data.get(self.position), self.data.get(self.position + 1)) {
                (Some(0xff), Some(0xff)) => self.position += 1,
                (Some(0xff), Some(&marker)) if marker != 0 => return Ok(marker),
                (Some(_), _) => self.position += 1,
                (None, _) => return Err(truncated()),
            }
        }
    }
}

/// T.81, figure F.12: the first half of the values of a length is negative.
#[inline(always)]
pub(super) fn signed(value: u32, length: u32) -> i32 {
    if length == 0 {
        return 0;
    }
    let value = value as i32;
    if value < 1 << (length - 1) { value - (1 << length) + 1 } else { value }
}

fn has_byte_ff(word: u64) -> bool {
    let inverted = !word;
    inverted.wrapping_sub(0x0101_0101_0101_0101) & !inverted & 0x8080_8080_8080_8080 != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stuffed_bytes_are_one_byte_and_a_marker_is_the_end() {
        let data = [0b1010_0101, 0xff, 0x00, 0x0f, 0xff, 0xd9];
        let mut bits = BitReader::new(&data, 0);
        bits.prepare();
        assert_eq!((bits.take(4), bits.take(4), bits.take(8), bits.take(8)), (0b1010, 0b0101, 0xff, 0x0f));
        assert_eq!(bits.check(), Ok(()));
        assert_eq!(bits.finish(), Ok(4));
        bits.prepare();
        assert_eq!(bits.take(1), 0);
        assert_eq!(bits.check(), Err(truncated()));
    }

    #[test]
    fn long_data_are_read_as_short_ones() {
        let data: Vec<u8> = (0..200_u8).collect();
        let mut bits = BitReader::new(&data, 0);
        for expected in &data {
            bits.prepare();
            assert_eq!(bits.take(3), u32::from(expected >> 5));
            bits.prepare();
            assert_eq!(bits.take(5), u32::from(expected & 31));
        }
        assert_eq!(bits.check(), Ok(()));
    }

    #[test]
    fn values_have_their_sign_from_their_first_bit() {
        assert_eq!([signed(0, 1), signed(1, 1), signed(0, 3), signed(3, 3), signed(4, 3), signed(7, 3)], [-1, 1, -7, -4, 4, 7]);
        assert_eq!(signed(0, 0), 0);
    }
}
