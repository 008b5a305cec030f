//! A process's memory.

use std::{fs, io};

/// A process's memory, as the kernel counts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// Resident bytes now.
    pub resident_bytes: u64,
    /// The most that was resident at any time.
    pub peak_resident_bytes: u64,
}

impl Memory {
    /// Reads the memory of the process `pid`.
    ///
    /// # Errors
    ///
    /// If there is no such process, or its status does not show its memory (as after its end).
    pub fn of_process(pid: u32) -> io::Result<Self> {
        let path = format!("/proc/{pid}/status");
        Self::parse(&fs::read_to_string(&path)?)
            .ok_or_else(|| io::Error::other(format!("{path} shows no memory: has the process ended?")))
    }

    fn parse(status: &str) -> Option<Self> {
        Some(Self { resident_bytes: bytes_of(status, "VmRSS:")?, peak_resident_bytes: bytes_of(status, "VmHWM:")? })
    }
}

/// The value of a line such as `VmRSS:      1234 kB`.
fn bytes_of(status: &str, key: &str) -> Option<u64> {
    let value = status.lines().find_map(|line| line.strip_prefix(key))?;
    let kibibytes: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1_024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_kilobytes_are_1024_bytes() {
        let status = "Name:\tx\nVmHWM:\t    9000 kB\nVmRSS:\t    8876 kB\nThreads:\t1\n";
        assert_eq!(Memory::parse(status), Some(Memory { resident_bytes: 8_876 * 1_024, peak_resident_bytes: 9_000 * 1_024 }));
        assert_eq!(Memory::parse("Name:\tzombie\n"), None);
    }

    #[test]
    fn this_process_uses_memory() {
        let memory = Memory::of_process(std::process::id()).expect("this process lives");
        assert!(memory.resident_bytes > 100_000 && memory.peak_resident_bytes >= memory.resident_bytes, "{memory:?}");
    }
}
