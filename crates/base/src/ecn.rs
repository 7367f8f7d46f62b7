//! The two ECN bits of an IP header.

/// Explicit Congestion Notification codepoint (RFC 3168 §5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum Ecn {
    /// The sender does not take part.
    #[default]
    NotEct,
    /// ECN-capable transport, codepoint 01.
    Ect1,
    /// ECN-capable transport, codepoint 10; the one that senders use.
    Ect0,
    /// Congestion experienced.
    Ce,
}

impl Ecn {
    /// From the two low bits of `bits`; the others are ignored.
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 0b11 {
            0b00 => Ecn::NotEct,
            0b01 => Ecn::Ect1,
            0b10 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// The codepoint as the two low bits of the IP header's traffic class.
    pub const fn bits(self) -> u8 {
        match self {
            Ecn::NotEct => 0b00,
            Ecn::Ect1 => 0b01,
            Ecn::Ect0 => 0b10,
            Ecn::Ce => 0b11,
        }
    }

    /// Whether a router may mark instead of dropping.
    pub const fn is_capable(self) -> bool {
        !matches!(self, Ecn::NotEct)
    }
}
