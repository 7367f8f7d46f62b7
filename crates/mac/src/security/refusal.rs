//! The reasons why frames are rejected, and their counters.

use core::fmt;

use crate::counters::count;

/// The reason why a frame is rejected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
#[non_exhaustive]
pub enum Refusal {
    /// The frame has no security.
    Unsecured,
    /// The auxiliary header of the frame is truncated or of an unsupported kind: a level that does
    /// not authenticate, a frame of TSCH, or the standard of 2003.
    Malformed,
    /// The security level of the frame is below the required level.
    Level,
    /// This node does not have the key that the frame identifies.
    UnknownKey,
    /// The sender's EUI-64 is unknown.
    UnknownSender,
    /// The integrity code of the frame is wrong: a node without the key made or changed the frame.
    Unauthenticated,
    /// The frame repeats the counter of its sender's last frame.
    Replayed,
    /// The frame counter is lower than the sender's latest one, or is the reserved 2^32 - 1.
    OldCounter,
    /// The frame is authentic, and there is no room to store its sender.
    NoRoom,
}

impl Refusal {
    pub(super) const ALL: [Refusal; 9] = [
        Refusal::Unsecured,
        Refusal::Malformed,
        Refusal::Level,
        Refusal::UnknownKey,
        Refusal::UnknownSender,
        Refusal::Unauthenticated,
        Refusal::Replayed,
        Refusal::OldCounter,
        Refusal::NoRoom,
    ];
}

/// Writes the name that reports use for the reason.
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refusal::Unsecured => "unsecured",
            Refusal::Malformed => "aux_malformed",
            Refusal::Level => "security_level",
            Refusal::UnknownKey => "unknown_key",
            Refusal::UnknownSender => "unknown_sender",
            Refusal::Unauthenticated => "unauthenticated",
            Refusal::Replayed => "replayed",
            Refusal::OldCounter => "old_counter",
            Refusal::NoRoom => "no_replay_room",
        })
    }
}

/// Counters of link-layer security. They wrap at 2^32.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct SecurityCounters {
    /// Protected frames.
    pub sealed: u32,
    /// Frames that could not be protected.
    pub unsealed: u32,
    /// Frames found authentic and new.
    pub opened: u32,
    refusals: [u32; Refusal::ALL.len()],
}

impl SecurityCounters {
    /// Returns every reason with its count, zeros included, in the order of [`Refusal`].
    pub fn refusals(&self) -> impl Iterator<Item = (Refusal, u32)> + '_ {
        Refusal::ALL.into_iter().zip(self.refusals)
    }

    pub(crate) fn refuse(&mut self, why: Refusal) {
        if let Some(counter) = self.refusals.get_mut(why as usize) {
            count(counter);
        }
    }
}
