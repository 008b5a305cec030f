//! Settings from environment variables: read once at start, every problem reported at once.
//!
//! A function that stops at its first missing variable costs a deployment for each mistake. [`Reader`] goes through all settings, keeps a list
//! of what is wrong, and [`Reader::finish`] hands out the configuration only when that list is empty.
//!
//! ```
//! use std::time::Duration;
//! use ikkai::config::{ConfigError, Reader};
//!
//! struct Config { table: String, timeout: Duration }
//!
//! fn read(mut reader: Reader) -> Result<Config, ConfigError> {
//!     let config = Config {
//!         table: reader.required_text("IKKAI_JOBS_TABLE"),
//!         timeout: reader.millis("IKKAI_PROVIDER_TIMEOUT_MS", 5_000, 100..=60_000),
//!     };
//!     reader.finish(config)
//! }
//!
//! assert_eq!(read(Reader::from_pairs([("IKKAI_JOBS_TABLE", "jobs")]))?.timeout, Duration::from_secs(5));
//! assert!(read(Reader::from_pairs([("IKKAI_PROVIDER_TIMEOUT_MS", "soon")])).is_err());
//! # Ok::<(), ConfigError>(())
//! ```

mod error;
mod local_engine;
mod provider_timeout;
mod reader;

pub use error::{ConfigError, Problem};
pub use local_engine::demand_local_engine;
pub use reader::Reader;
