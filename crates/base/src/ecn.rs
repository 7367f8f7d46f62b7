//! The two ECN bits of an IP header.

/// Explicit Congestion Notification codepoint (RFC 3168 §5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum Ecn {
    /// Not ECN-capable transport.
    #[default]
    NotEct,
    /// ECN-capable transport, codepoint 01.
    Ect1,
    /// ECN-capable transport, codepoint 10, which senders usually set.
    Ect0,
    /// Congestion experienced.
    Ce,
}

impl Ecn {
    /// Returns the codepoint of the two low bits of `bits`.
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 0b11 {
            0b00 => Ecn::NotEct,
            0b01 => Ecn::Ect1,
            0b10 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// Returns the two low bits of the IP header's traffic class.
    pub const fn bits(self) -> u8 {
        match self {
            Ecn::NotEct => 0b00,
            Ecn::Ect1 => 0b01,
            Ecn::Ect0 => 0b10,
            Ecn::Ce => 0b11,
        }
    }

    /// Returns whether a router may mark the packet instead of dropping it.
    pub const fn is_capable(self) -> bool {
        !matches!(self, Ecn::NotEct)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_bits_of_rfc_3168_survive() {
        for bits in 0..=u8::MAX {
            let ecn = Ecn::from_bits(bits);
            assert_eq!(ecn.bits(), bits & 0b11);
            assert_eq!(ecn.is_capable(), bits & 0b11 != 0);
        }
        assert_eq!(Ecn::from_bits(0b11), Ecn::Ce);
        assert_eq!(Ecn::from_bits(0b10), Ecn::Ect0);
    }
}
