//! What is looked at before a function's binary is uploaded: Lambda would say it with the first invocation, in a line that names no mend.

use std::fmt;

use super::elf::{self, ElfError, Machine};

/// The newest version of glibc's symbols that `provided.al2023` has
/// (<https://docs.aws.amazon.com/linux/al2023/ug/compare-with-al2.html>, "glibc, gcc, binutils").
const RUNTIME_GLIBC: Glibc = Glibc { major: 2, minor: 34 };

/// What a function's zip may weigh, bytes: it is downloaded at a cold start. Lambda itself takes ten times as much.
const ZIP_BYTES: usize = 5_000_000;

/// The same for the other processor, whose programs are a sixth larger.
const X86_64_ZIP_BYTES: usize = 6_000_000;

/// The same for the image consumer, which has three codecs in it.
const IMAGE_ZIP_BYTES: usize = 8_000_000;

/// Which function may weigh that much.
const IMAGE_CONSUMER: &str = "image-consumer";

/// A processor that Lambda has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Architecture {
    /// Graviton.
    Arm64,
    /// Intel and AMD.
    X86_64,
}

impl Architecture {
    /// Reads the value of the template's parameter `Architecture`.
    #[must_use]
    pub fn of_parameter(value: &str) -> Option<Self> {
        [Self::Arm64, Self::X86_64].into_iter().find(|one| one.parameter() == value)
    }

    /// The processor of this machine.
    #[must_use]
    pub fn of_this_machine() -> Self {
        if std::env::consts::ARCH == "x86_64" { Self::X86_64 } else { Self::Arm64 }
    }

    /// The value of the template's parameter `Architecture`.
    #[must_use]
    pub fn parameter(self) -> &'static str {
        match self {
            Self::Arm64 => "arm64",
            Self::X86_64 => "x86_64",
        }
    }

    /// The option of `cargo lambda build`.
    #[must_use]
    pub fn flag(self) -> &'static str {
        match self {
            Self::Arm64 => "--arm64",
            Self::X86_64 => "--x86-64",
        }
    }

    fn machine(self) -> Machine {
        match self {
            Self::Arm64 => Machine::Aarch64,
            Self::X86_64 => Machine::X86_64,
        }
    }
}

/// A version of glibc's symbols.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Glibc {
    major: u32,
    minor: u32,
}

impl Glibc {
    /// Reads a version as it stands in a binary. `None`: it is not one of glibc.
    fn of_symbol(version: &str) -> Option<Self> {
        // Packed relocations: a linker marks them so, and glibc knows them since 2.36 (<https://sourceware.org/glibc/wiki/Release/2.36>).
        if version == "GLIBC_ABI_DT_RELR" {
            return Some(Self { major: 2, minor: 36 });
        }
        let mut numbers = version.strip_prefix("GLIBC_")?.split('.').map(str::parse);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(major)), Some(Ok(minor))) => Some(Self { major, minor }),
            _ => None,
        }
    }
}

impl fmt::Display for Glibc {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{}", self.major, self.minor)
    }
}

/// Where the binary is to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// On Lambda, with a processor like this.
    Lambda(Architecture),
    /// On this machine, by a local engine: it has this machine's glibc, and no cold start that matters.
    ThisMachine,
}

/// A binary that may be uploaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Artifact {
    /// The newest glibc that it asks for; a static binary asks for none.
    pub glibc: Option<Glibc>,
    /// The zip's size.
    pub zip_bytes: usize,
}

/// Why a binary may not be uploaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArtifactError {
    /// It is no binary of Linux.
    #[error("`{name}` is not a program for Lambda; build it with `cargo lambda build --release {}`", architecture.flag())]
    NotElf {
        /// The function.
        name: String,
        /// What it was to be.
        architecture: Architecture,
        /// What is wrong with it.
        source: ElfError,
    },
    /// It is for another processor.
    #[error(
        "`{name}` was built for {found}, and the stack's parameter Architecture is {}; \
         build with `cargo lambda build --release {}`, or change the parameter",
        architecture.parameter(), architecture.flag()
    )]
    Machine {
        /// The function.
        name: String,
        /// What it was built for.
        found: Machine,
        /// What was wanted.
        architecture: Architecture,
    },
    /// It would not start.
    #[error(
        "`{name}` asks for glibc {found} ({symbol}), and provided.al2023 has {RUNTIME_GLIBC}: it would end before its first log line; \
         build with `cargo lambda build`, which links against an older one, and not with plain `cargo build` or `--compiler cargo`"
    )]
    Glibc {
        /// The function.
        name: String,
        /// What it asks for.
        found: Glibc,
        /// As it stands in the binary.
        symbol: String,
    },
    /// It is too large.
    #[error(
        "`{name}` is a zip of {bytes} bytes, and {limit} are allowed: every cold start loads it; \
         build with `--release`, and look for what has grown with `cargo tree -p {name} -e features`"
    )]
    Size {
        /// The function.
        name: String,
        /// Its size.
        bytes: usize,
        /// What it may be.
        limit: usize,
    },
}

/// Looks at a function's binary and at the size of its zip.
///
/// # Errors
/// It would not run where it is to run, or is too large for it.
pub fn check(name: &str, binary: &[u8], zip_bytes: usize, target: Target) -> Result<Artifact, ArtifactError> {
    let architecture = match target {
        Target::Lambda(architecture) => architecture,
        Target::ThisMachine => Architecture::of_this_machine(),
    };
    let name = || name.to_owned();
    let found = elf::read(binary).map_err(|source| ArtifactError::NotElf { name: name(), architecture, source })?;
    if found.machine != architecture.machine() {
        return Err(ArtifactError::Machine { name: name(), found: found.machine, architecture });
    }
    let newest = found.needed_versions.iter().filter_map(|symbol| Some((Glibc::of_symbol(symbol)?, symbol))).max();
    if target != Target::ThisMachine {
        if let Some((found, symbol)) = newest
            && found > RUNTIME_GLIBC
        {
            return Err(ArtifactError::Glibc { name: name(), found, symbol: symbol.clone() });
        }
        let limit = zip_limit(&name(), architecture);
        if zip_bytes > limit {
            return Err(ArtifactError::Size { name: name(), bytes: zip_bytes, limit });
        }
    }
    Ok(Artifact { glibc: newest.map(|(version, _)| version), zip_bytes })
}

/// What a function's zip may weigh, bytes.
#[must_use]
pub fn zip_limit(function: &str, architecture: Architecture) -> usize {
    match architecture {
        _ if function == IMAGE_CONSUMER => IMAGE_ZIP_BYTES,
        Architecture::Arm64 => ZIP_BYTES,
        Architecture::X86_64 => X86_64_ZIP_BYTES,
    }
}

#[cfg(test)]
mod tests {
    use super::super::elf::testing::made_up;
    use super::*;

    const ARM: Target = Target::Lambda(Architecture::Arm64);

    #[test]
    fn a_binary_for_the_runtime_passes_and_tells_what_it_asks_for() {
        let binary = made_up(183, &["GLIBC_2.17", "GLIBC_2.34", "GLIBC_2.4", "GCC_3.0"]);
        let artifact = check("email-consumer", &binary, 5_000_000, ARM).unwrap();
        assert_eq!((artifact.glibc.unwrap().to_string(), artifact.zip_bytes), ("2.34".to_owned(), 5_000_000));
        assert_eq!(check("email-consumer", &made_up(183, &[]), 1, ARM).unwrap().glibc, None, "a static one");
    }

    #[test]
    fn a_binary_for_another_processor_is_refused_with_the_option_to_build_with() {
        let error = check("email-consumer", &made_up(62, &[]), 1, ARM).unwrap_err().to_string();
        assert!(error.contains("built for x86-64") && error.contains("is arm64") && error.contains("--arm64"), "{error}");
        let error = check("email-consumer", &made_up(183, &[]), 1, Target::Lambda(Architecture::X86_64)).unwrap_err().to_string();
        assert!(error.contains("built for arm64") && error.contains("--x86-64"), "{error}");
    }

    #[test]
    fn a_glibc_that_lambda_does_not_have_is_named_with_the_mend() {
        for (symbols, named) in [
            (&["GLIBC_2.9", "GLIBC_2.35"][..], "glibc 2.35 (GLIBC_2.35)"),
            (&["GLIBC_2.17", "GLIBC_ABI_DT_RELR"], "glibc 2.36 (GLIBC_ABI_DT_RELR)"),
        ] {
            let error = check("email-consumer", &made_up(183, symbols), 1, ARM).unwrap_err().to_string();
            assert!(error.contains(named) && error.contains("has 2.34") && error.contains("`cargo lambda build`"), "{error}");
        }
    }

    #[test]
    fn a_zip_over_its_limit_is_refused_and_pictures_have_another_limit() {
        let binary = made_up(183, &[]);
        let error = check("email-consumer", &binary, 5_000_001, ARM).unwrap_err().to_string();
        assert!(error.contains("5000001 bytes, and 5000000 are allowed") && error.contains("--release"), "{error}");
        assert!(check("image-consumer", &binary, 8_000_000, ARM).is_ok());
        assert!(check("image-consumer", &binary, 8_000_001, ARM).is_err());
        let (binary, other) = (made_up(62, &[]), Target::Lambda(Architecture::X86_64));
        assert!(check("email-consumer", &binary, 6_000_000, other).is_ok());
        assert!(check("email-consumer", &binary, 6_000_001, other).is_err());
    }

    #[test]
    fn what_is_no_program_is_refused() {
        let error = check("email-consumer", b"#!/bin/sh\n", 1, ARM).unwrap_err().to_string();
        assert!(error.contains("`email-consumer` is not a program for Lambda"), "{error}");
    }

    /// This test's own process: built by plain cargo for this machine.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_real_binary_of_this_machine_is_read() {
        let binary = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let artifact = check("anything", &binary, usize::MAX, Target::ThisMachine).unwrap();
        assert!(artifact.glibc.is_some_and(|glibc| glibc >= Glibc { major: 2, minor: 17 }), "{artifact:?}");
        let other = match Architecture::of_this_machine() {
            Architecture::Arm64 => Architecture::X86_64,
            Architecture::X86_64 => Architecture::Arm64,
        };
        assert!(matches!(check("anything", &binary, 1, Target::Lambda(other)), Err(ArtifactError::Machine { .. })));
    }

    #[test]
    fn parameters_of_the_template_name_architectures() {
        assert_eq!(Architecture::of_parameter("x86_64"), Some(Architecture::X86_64));
        assert_eq!(Architecture::of_parameter("arm64"), Some(Architecture::Arm64));
        assert_eq!(Architecture::of_parameter("riscv"), None);
    }
}
