//! Huffman tables.

use super::{
    bits::{BitReader, signed},
    malformed,
};
use crate::picture_error::PictureError;

/// Codes up to this length are looked up at once.
const LOOKUP_BITS: u32 = 10;
/// Past every coefficient: what an end of block skips.
const END_OF_BLOCK: u8 = 64;

/// The table of one class and number of a scan.
#[derive(Clone)]
pub(super) struct HuffmanTable {
    /// For each start of bits the length of the code and its symbol; length 0 where the code is longer.
    lookup: Vec<(u8, u8)>,
    /// For each start of bits that holds a code of an AC coefficient and the value behind it: all of it.
    coefficients: Vec<Coefficient>,
    /// For each length the end of its codes, in 16 bits.
    code_ends: [u32; 17],
    /// For each length what leads from a code to its symbol.
    symbol_offsets: [i32; 17],
    symbols: Vec<u8>,
}

/// A step along a block: skip zeros, then a value unless it is zero.
#[derive(Clone, Copy, Default)]
pub(super) struct Coefficient {
    pub(super) skip: u8,
    /// Bits that it takes; 0 where it has to be put together.
    length: u8,
    pub(super) value: i16,
}

impl HuffmanTable {
    /// From the number of codes of each length and the symbols in the order of their codes (T.81, annex C).
    pub(super) fn new(counts: &[u8; 16], symbols: &[u8]) -> Result<Self, PictureError> {
        let mut table = Self {
            lookup: vec![(0, 0); 1 << LOOKUP_BITS],
            coefficients: vec![Coefficient::default(); 1 << LOOKUP_BITS],
            code_ends: [0; 17],
            symbol_offsets: [0; 17],
            symbols: symbols.to_vec(),
        };
        let (mut code, mut first_symbol) = (0_u32, 0_usize);
        for (length, &count) in (1_u32..).zip(counts) {
            table.symbol_offsets[length as usize] = first_symbol as i32 - code as i32;
            for &symbol in &symbols[first_symbol..first_symbol + usize::from(count)] {
                if code >= 1 << length {
                    return Err(malformed("a Huffman table has too many codes"));
                }
                table.enter(code, length, symbol);
                code += 1;
            }
            first_symbol += usize::from(count);
            table.code_ends[length as usize] = code << (16 - length);
            code <<= 1;
        }
        table.combine();
        Ok(table)
    }

    fn enter(&mut self, code: u32, length: u32, symbol: u8) {
        if length <= LOOKUP_BITS {
            let free = LOOKUP_BITS - length;
            let first = (code << free) as usize;
            self.lookup[first..first + (1 << free)].fill((length as u8, symbol));
        }
    }

    /// Fills `coefficients` from `lookup`.
    fn combine(&mut self) {
        for (start, (entry, &(length, symbol))) in (0_u32..).zip(self.coefficients.iter_mut().zip(&self.lookup)) {
            let (run, size) = (symbol >> 4, symbol & 15);
            let total = length + size;
            if length == 0 || u32::from(total) > LOOKUP_BITS {
                continue;
            }
            *entry = if size == 0 {
                Coefficient { skip: if run == 15 { 16 } else { END_OF_BLOCK }, length, value: 0 }
            } else {
                let bits = (start >> (LOOKUP_BITS - u32::from(total))) & ((1 << size) - 1);
                Coefficient { skip: run, length: total, value: signed(bits, size.into()) as i16 }
            };
        }
    }

    /// Takes one symbol. The reader must be prepared.
    #[inline(always)]
    pub(super) fn symbol(&self, bits: &mut BitReader<'_>) -> Result<u8, PictureError> {
        let (length, symbol) = self.lookup[bits.peek(LOOKUP_BITS)];
        if length > 0 {
            bits.skip(length.into());
            return Ok(symbol);
        }
        self.long_symbol(bits)
    }

    #[cold]
    fn long_symbol(&self, bits: &mut BitReader<'_>) -> Result<u8, PictureError> {
        let next = bits.peek(16) as u32;
        for length in LOOKUP_BITS + 1..=16 {
            if next < self.code_ends[length as usize] {
                let index = (next >> (16 - length)) as i32 + self.symbol_offsets[length as usize];
                bits.skip(length);
                return usize::try_from(index)
                    .ok()
                    .and_then(|index| self.symbols.get(index).copied())
                    .ok_or(malformed("a Huffman code is not in its table"));
            }
        }
        // Zeros that were made up can end here as well as damaged data.
        bits.check()?;
        Err(malformed("a Huffman code is not in its table"))
    }

    /// Takes the next step along the AC coefficients of a sequential block.
    #[inline(always)]
    pub(super) fn coefficient(&self, bits: &mut BitReader<'_>) -> Result<Coefficient, PictureError> {
        bits.prepare();
        let whole = self.coefficients[bits.peek(LOOKUP_BITS)];
        if whole.length > 0 {
            bits.skip(whole.length.into());
            return Ok(whole);
        }
        let symbol = self.symbol(bits)?;
        let (run, size) = (symbol >> 4, symbol & 15);
        if size == 0 {
            return Ok(Coefficient { skip: if run == 15 { 16 } else { END_OF_BLOCK }, length: 0, value: 0 });
        }
        Ok(Coefficient { skip: run, length: 0, value: bits.take_signed(size.into()) as i16 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(pairs: &[(usize, u8)]) -> [u8; 16] {
        let mut counts = [0; 16];
        for &(length, count) in pairs {
            counts[length - 1] = count;
        }
        counts
    }

    #[test]
    fn short_and_long_codes_are_found() {
        // 0, 10, and two codes of twelve bits: 1100_0000_0000 and the next.
        let table = HuffmanTable::new(&counts(&[(1, 1), (2, 1), (12, 2)]), &[5, 6, 7, 8]).unwrap();
        let data = [0b0101_1111, 0b1111_1100, 0, 0, 0, 0, 0, 0, 0];
        let mut bits = BitReader::new(&data, 0);
        bits.prepare();
        let found = [table.symbol(&mut bits), table.symbol(&mut bits), table.symbol(&mut bits)];
        assert_eq!(found, [Ok(5), Ok(6), Err(malformed("a Huffman code is not in its table"))]);
        let data = [0b1100_0000, 0b0001_0000, 0, 0, 0, 0, 0, 0, 0];
        let mut bits = BitReader::new(&data, 0);
        bits.prepare();
        assert_eq!(table.symbol(&mut bits), Ok(8));
    }

    #[test]
    fn more_codes_than_bits_are_refused() {
        assert!(HuffmanTable::new(&counts(&[(1, 3)]), &[1, 2, 3]).is_err());
    }
}
