//! What the first process of a sandbox tells the one that made it, over a pipe.

use rustix::io::Errno;

/// Bytes of a message; few enough to be written at once.
pub(crate) const LENGTH: usize = 16;

/// A message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Message {
    /// The program runs. Comes once, or a failure does.
    Started {
        /// What could not be had, of [`notes`].
        notes: i32,
    },
    /// The program does not run.
    Failed(Failure),
    /// The program has ended.
    Ended {
        /// As `wait` gives it.
        status: i32,
    },
}

/// What could not be had, and was done without.
pub(crate) mod notes {
    /// `/proc` is empty.
    pub(crate) const NO_PROC: i32 = 1;
    /// An overlay without `index` and `metacopy`.
    pub(crate) const NO_INDEX: i32 = 2;
    /// An overlay without `redirect_dir` as well.
    pub(crate) const NO_REDIRECT: i32 = 4;
}

/// A step of the set-up that failed, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The step.
    pub(crate) step: Step,
    /// Which of its kind.
    pub(crate) index: usize,
    /// What the kernel said.
    pub(crate) errno: Errno,
}

/// The steps of the set-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Descriptors,
    Network,
    Identity,
    Group,
    Mount,
    Privileges,
    Process,
    Session,
    Limits,
    Cwd,
    Paths,
    Calls,
    Exec,
}

const STEPS: [Step; 13] = [
    Step::Descriptors,
    Step::Network,
    Step::Identity,
    Step::Group,
    Step::Mount,
    Step::Privileges,
    Step::Process,
    Step::Session,
    Step::Limits,
    Step::Cwd,
    Step::Paths,
    Step::Calls,
    Step::Exec,
];

impl Step {
    /// The failure of this step.
    pub(crate) fn failed(self, index: usize, errno: Errno) -> Failure {
        Failure {
            step: self,
            index,
            errno,
        }
    }

    /// What it does, for people.
    pub(crate) fn what(self) -> &'static str {
        match self {
            Self::Descriptors => "closing descriptors",
            Self::Network => "leaving the network",
            Self::Identity => "mapping the user into a user namespace",
            Self::Group => "entering a control group",
            Self::Mount => "mounting",
            Self::Privileges => "dropping privileges",
            Self::Process => "making the program's process",
            Self::Session => "giving it its own session and streams",
            Self::Limits => "setting limits",
            Self::Cwd => "entering its folder",
            Self::Paths => "setting up Landlock",
            Self::Calls => "setting up seccomp",
            Self::Exec => "starting the program",
        }
    }
}

impl Message {
    pub(crate) fn to_bytes(self) -> [u8; LENGTH] {
        let words = match self {
            Self::Started { notes } => [1, notes, 0, 0],
            Self::Failed(f) => [2, f.step as i32, f.index as i32, f.errno.raw_os_error()],
            Self::Ended { status } => [3, status, 0, 0],
        };
        let mut bytes = [0; LENGTH];
        for (place, word) in bytes.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    pub(crate) fn from_bytes(bytes: [u8; LENGTH]) -> Option<Self> {
        let mut words = bytes.chunks_exact(4).filter_map(|word| {
            let word: [u8; 4] = word.try_into().ok()?;
            Some(i32::from_ne_bytes(word))
        });
        let (kind, first, second, third) =
            (words.next()?, words.next()?, words.next()?, words.next()?);
        match kind {
            1 => Some(Self::Started { notes: first }),
            2 => Some(Self::Failed(Failure {
                step: *STEPS.get(usize::try_from(first).ok()?)?,
                index: usize::try_from(second).ok()?,
                errno: Errno::from_raw_os_error(third),
            })),
            3 => Some(Self::Ended { status: first }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_comes_back_as_it_was() {
        let mut messages = vec![
            Message::Started { notes: 5 },
            Message::Ended { status: 0x0b },
        ];
        for (index, step) in STEPS.into_iter().enumerate() {
            assert_eq!(step as usize, index);
            messages.push(Message::Failed(step.failed(index, Errno::NOENT)));
        }
        for message in messages {
            assert_eq!(Message::from_bytes(message.to_bytes()), Some(message));
        }
        assert_eq!(Message::from_bytes([0; LENGTH]), None);
    }
}
