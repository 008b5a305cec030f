//! Reads from a Linux program what decides whether it starts elsewhere: its processor, and the versions of symbols that it asks its
//! libraries for.
//!
//! The format: <https://refspecs.linuxfoundation.org/elf/gabi4+/contents.html>; versions:
//! <https://refspecs.linuxfoundation.org/LSB_5.0.0/LSB-Core-generic/LSB-Core-generic/symversion.html>.

use std::fmt;

/// Section type of the versions that are needed.
const SHT_GNU_VERNEED: u32 = 0x6fff_fffe;

/// A processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Machine {
    /// Intel and AMD, 64 bit.
    X86_64,
    /// ARM, 64 bit.
    Aarch64,
    /// Another one, by its number.
    Other(u16),
}

impl fmt::Display for Machine {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::X86_64 => out.write_str("x86-64"),
            Self::Aarch64 => out.write_str("arm64"),
            Self::Other(number) => write!(out, "another processor (ELF machine {number})"),
        }
    }
}

/// What a program says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Elf {
    /// The processor that it is for.
    pub machine: Machine,
    /// The versions of symbols that it asks its libraries for, such as `GLIBC_2.34`.
    pub needed_versions: Vec<String>,
}

/// Not a program for a 64-bit Linux.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ElfError {
    /// Another kind of file.
    #[error("it is not a 64-bit little-endian ELF file")]
    NotElf,
    /// It ends too early, or points outside of itself.
    #[error("it is cut off or damaged: {0} is outside of the file")]
    Damaged(&'static str),
}

/// Reads a program.
///
/// # Errors
/// It is not one, or damaged.
pub fn read(file: &[u8]) -> Result<Elf, ElfError> {
    // Class 2: 64 bit. Data 1: little-endian.
    if file.get(..6) != Some(b"\x7fELF\x02\x01") {
        return Err(ElfError::NotElf);
    }
    let header = Bytes { file, what: "the header" };
    let machine = match header.u16(18)? {
        62 => Machine::X86_64,
        183 => Machine::Aarch64,
        number => Machine::Other(number),
    };
    let (table, size, count) = (header.offset(40)?, usize::from(header.u16(58)?), usize::from(header.u16(60)?));
    let mut needed_versions = Vec::new();
    for index in 0..count {
        let at = table + index * size;
        let section = Bytes { file, what: "a section" };
        if section.u32(at + 4)? == SHT_GNU_VERNEED {
            let (offset, names) = (section.offset(at + 24)?, section.u32(at + 40)? as usize);
            // What follows the section says how many entries it has.
            let entries = section.u32(at + 44)?;
            let names = section.offset(table + names * size + 24)?;
            read_versions(file, offset, entries, names, &mut needed_versions)?;
        }
    }
    Ok(Elf { machine, needed_versions })
}

fn read_versions(file: &[u8], mut at: usize, entries: u32, names: usize, into: &mut Vec<String>) -> Result<(), ElfError> {
    let needs = Bytes { file, what: "a list of versions" };
    for _ in 0..entries {
        let (count, mut version) = (needs.u16(at + 2)?, at + needs.u32(at + 8)? as usize);
        for _ in 0..count {
            into.push(text(file, names + needs.u32(version + 8)? as usize)?);
            // The last one has no next one, whatever the count says: a damaged count must not be believed.
            match needs.u32(version + 12)? as usize {
                0 => break,
                next => version += next,
            }
        }
        match needs.u32(at + 12)? as usize {
            0 => break,
            next => at += next,
        }
    }
    Ok(())
}

fn text(file: &[u8], at: usize) -> Result<String, ElfError> {
    let rest = file.get(at..).ok_or(ElfError::Damaged("a name"))?;
    let end = rest.iter().position(|byte| *byte == 0).ok_or(ElfError::Damaged("a name"))?;
    Ok(String::from_utf8_lossy(&rest[..end]).into_owned())
}

/// Numbers of a file.
struct Bytes<'a> {
    file: &'a [u8],
    what: &'static str,
}

impl Bytes<'_> {
    fn array<const N: usize>(&self, at: usize) -> Result<[u8; N], ElfError> {
        let end = at.checked_add(N).ok_or(ElfError::Damaged(self.what))?;
        let found = self.file.get(at..end).and_then(|bytes| bytes.try_into().ok());
        found.ok_or(ElfError::Damaged(self.what))
    }

    fn u16(&self, at: usize) -> Result<u16, ElfError> {
        self.array(at).map(u16::from_le_bytes)
    }

    fn u32(&self, at: usize) -> Result<u32, ElfError> {
        self.array(at).map(u32::from_le_bytes)
    }

    /// A place in the file. One that lies outside of it is damage, so sums of two of them do not overflow.
    fn offset(&self, at: usize) -> Result<usize, ElfError> {
        let offset = usize::try_from(u64::from_le_bytes(self.array(at)?)).ok();
        offset.filter(|offset| *offset <= self.file.len()).ok_or(ElfError::Damaged(self.what))
    }
}

#[cfg(test)]
pub(super) mod testing {
    /// A program that is nothing but headers: one section of names, one of needed versions.
    pub(in super::super) fn made_up(machine: u16, versions: &[&str]) -> Vec<u8> {
        let mut names = b"\0".to_vec();
        let offsets: Vec<u32> = versions
            .iter()
            .map(|version| {
                let at = u32::try_from(names.len()).unwrap();
                names.extend(version.bytes().chain([0]));
                at
            })
            .collect();
        let mut needs = Vec::new();
        if !versions.is_empty() {
            let count = u16::try_from(versions.len()).unwrap();
            needs.extend([1_u16, count].into_iter().flat_map(u16::to_le_bytes));
            needs.extend([0_u32, 16, 0].into_iter().flat_map(u32::to_le_bytes));
            for (index, name) in offsets.iter().enumerate() {
                needs.extend(0_u32.to_le_bytes());
                needs.extend([0_u16, 2].into_iter().flat_map(u16::to_le_bytes));
                let next = if index + 1 == offsets.len() { 0 } else { 16_u32 };
                needs.extend([*name, next].into_iter().flat_map(u32::to_le_bytes));
            }
        }
        let (names_at, needs_at) = (64_u64, 64 + names.len() as u64);
        let table_at = needs_at + needs.len() as u64;
        let mut file = b"\x7fELF\x02\x01\x01".to_vec();
        file.resize(16, 0);
        file.extend([3_u16, machine].into_iter().flat_map(u16::to_le_bytes));
        file.resize(40, 0);
        file.extend(table_at.to_le_bytes());
        file.resize(58, 0);
        file.extend([64_u16, 2, 0].into_iter().flat_map(u16::to_le_bytes));
        file.extend(&names);
        file.extend(&needs);
        let entries = u32::from(!versions.is_empty());
        for (kind, at, length, info) in
            [(3_u32, names_at, names.len(), 0), (super::SHT_GNU_VERNEED, needs_at, needs.len(), entries)]
        {
            let start = file.len();
            file.extend([0, kind].into_iter().flat_map(u32::to_le_bytes));
            file.resize(start + 24, 0);
            file.extend([at, length as u64].into_iter().flat_map(u64::to_le_bytes));
            file.extend([0_u32, info].into_iter().flat_map(u32::to_le_bytes));
            file.resize(start + 64, 0);
        }
        file
    }
}

#[cfg(test)]
mod tests {
    use super::testing::made_up;
    use super::*;

    #[test]
    fn the_processor_and_the_needed_versions_are_read() {
        let read = read(&made_up(183, &["GLIBC_2.17", "GLIBC_2.34"])).unwrap();
        assert_eq!(read.machine, Machine::Aarch64);
        assert_eq!(read.needed_versions, ["GLIBC_2.17", "GLIBC_2.34"]);
    }

    #[test]
    fn no_file_makes_the_reader_panic() {
        let whole = made_up(62, &["GLIBC_2.17", "GLIBC_2.34"]);
        for length in 0..whole.len() {
            // Cut off, it is refused or (where only what was not asked for is gone) read.
            let _ = read(&whole[..length]);
        }
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] = 0xff;
            let _ = read(&damaged);
            damaged[at] = 1;
            let _ = read(&damaged);
        }
        assert_eq!(read(&whole[..63]), Err(ElfError::Damaged("the header")));
        assert_eq!(read(b"PK\x03\x04"), Err(ElfError::NotElf));
    }
}
