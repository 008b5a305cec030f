//! Owners of leases. The kit makes a new random one for every claim; here the living ones go by who holds them.

use std::sync::LazyLock;

use ikkai::idempotency::Guard;

/// Most tokens that nobody holds any more, in one state.
const MOST_GONE: u8 = 6;

/// Who wrote a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Token {
    /// The claim that this worker is at.
    Worker(u8),
    /// The request that this client is at.
    Request(u8),
    /// A claim or a request of former times; the number tells one from another.
    Gone(u8),
}

const WORKERS: [&str; 3] = ["worker-1", "worker-2", "worker-3"];
const REQUESTS: [&str; 2] = ["request-1", "request-2"];
const GONE: [&str; MOST_GONE as usize] = ["gone-1", "gone-2", "gone-3", "gone-4", "gone-5", "gone-6"];

/// Made once: every move asks for one.
static GUARDS: LazyLock<[Vec<Guard>; 2]> = LazyLock::new(|| {
    [
        WORKERS.map(|token| Guard::Lease(token.to_owned())).to_vec(),
        REQUESTS.map(|token| Guard::Sending(token.to_owned())).to_vec(),
    ]
});

impl Token {
    /// As it stands in a record.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Worker(number) => WORKERS[usize::from(number)],
            Self::Request(number) => REQUESTS[usize::from(number)],
            Self::Gone(number) => GONE[usize::from(number)],
        }
    }

    /// What its owner insists on when it writes.
    pub fn guard(self) -> &'static Guard {
        &GUARDS[usize::from(matches!(self, Self::Request(_)))][usize::from(self.number())]
    }

    fn number(self) -> u8 {
        let (Self::Worker(number) | Self::Request(number) | Self::Gone(number)) = self;
        number
    }

    /// Reads it back.
    ///
    /// # Panics
    /// When it is no token of this model: then something else than the model wrote the record.
    pub fn of(text: &str) -> Self {
        let place = |names: &[&str]| names.iter().position(|name| *name == text).and_then(|place| u8::try_from(place).ok());
        place(&WORKERS)
            .map(Self::Worker)
            .or_else(|| place(&REQUESTS).map(Self::Request))
            .or_else(|| place(&GONE).map(Self::Gone))
            .unwrap_or_else(|| panic!("{text} is no token of the model"))
    }
}
