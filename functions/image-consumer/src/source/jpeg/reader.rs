//! The file as the decoder reads it: byte by byte, until the work is called off.

use std::{
    array::IntoIter,
    io::{self, ErrorKind, Read},
};

use crate::cancel::Cancel;

/// Hands out the parts of a file one after the other. The flag is looked at once a block: the decoder asks for most bytes one at a time, and what a byte costs here is
/// a good part of what decoding costs.
pub(super) struct CancellableReader<'a> {
    block: &'a [u8],
    rest: &'a [u8],
    parts: IntoIter<&'a [u8], 3>,
    /// Bytes before the end of `block`.
    taken: usize,
    cancel: &'a Cancel,
}

impl<'a> CancellableReader<'a> {
    /// Bytes that are handed out between two looks at the flag.
    const BLOCK_BYTES: usize = 8 * 1024;

    pub(super) fn new(parts: [&'a [u8]; 3], cancel: &'a Cancel) -> Self {
        Self { block: &[], rest: &[], parts: parts.into_iter(), taken: 0, cancel }
    }

    /// How many bytes were handed out.
    pub(super) const fn position(&self) -> usize {
        self.taken - self.block.len()
    }

    #[cold]
    fn read_all(&mut self, mut buffer: &mut [u8]) -> io::Result<()> {
        while !buffer.is_empty() {
            match self.read(buffer)? {
                0 => return Err(ErrorKind::UnexpectedEof.into()),
                read => buffer = &mut buffer[read..],
            }
        }
        Ok(())
    }
}

impl Read for CancellableReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.block.is_empty() {
            self.cancel.check().map_err(io::Error::other)?;
            if self.rest.is_empty() {
                self.rest = self.parts.find(|part| !part.is_empty()).unwrap_or_default();
            }
            (self.block, self.rest) = self.rest.split_at(self.rest.len().min(Self::BLOCK_BYTES));
            self.taken += self.block.len();
        }
        self.block.read(buffer)
    }

    #[inline]
    fn read_exact(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        match (buffer, self.block) {
            ([byte], [first, rest @ ..]) => {
                *byte = *first;
                self.block = rest;
                Ok(())
            }
            (buffer, _) => self.read_all(buffer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture_error::PictureError;

    const BLOCK: usize = CancellableReader::BLOCK_BYTES;

    #[test]
    fn bytes_come_in_order_across_blocks_and_then_the_file_ends() {
        let file: Vec<u8> = (0..2 * BLOCK + 5).map(|at| (at % 251) as u8).collect();
        let cancel = Cancel::default();
        let (head, rest) = file.split_at(BLOCK + 3);
        for step in [1, 2, 7, BLOCK - 1, BLOCK, BLOCK + 1] {
            let mut reader = CancellableReader::new([head, &[], rest], &cancel);
            for expected in file.chunks_exact(step) {
                let mut buffer = vec![0; step];
                reader.read_exact(&mut buffer).unwrap();
                assert_eq!(buffer, expected, "in steps of {step}");
            }
            assert_eq!(reader.position(), file.len() - file.len() % step);
            let left = file.len() % step;
            let error = reader.read_exact(&mut vec![0; left + 1]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
        }
    }

    #[test]
    fn work_that_is_called_off_gets_the_rest_of_its_block() {
        let file = vec![7; 2 * BLOCK];
        let cancel = Cancel::default();
        let mut reader = CancellableReader::new([&file, &[], &[]], &cancel);
        let mut byte = [0];
        reader.read_exact(&mut byte).unwrap();
        cancel.cancel();
        for _ in 1..BLOCK {
            reader.read_exact(&mut byte).unwrap();
        }
        let error = reader.read_exact(&mut byte).unwrap_err();
        assert_eq!(error.downcast::<PictureError>().unwrap(), PictureError::Cancelled);
    }
}
