//! The defects of BLIP that can be corrected separately.

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Corrections {
    /// An acknowledgment of new data resets the counter of timer-driven sends. Without this
    /// correction, a connection ends at its seventh timer-driven send in total.
    pub counter: bool,
    /// A retransmitted SYN keeps its sequence number; BLIP uses the sequence number after it.
    pub syn: bool,
    /// A write sends only new data. Without this correction it also retransmits all data in flight.
    pub write: bool,
    /// The peer's window and the congestion window bound all segments, not only the
    /// first of a burst.
    pub window: bool,
    /// Only acknowledgments without data count as duplicates, and the third one causes the
    /// retransmission of one segment.
    pub duplicates: bool,
    /// Acknowledgments of data that were never sent are ignored, and sequence numbers wrap.
    pub acknowledgments: bool,
    /// A segment farther away than a window is answered by an acknowledgment, not by a reset.
    pub old: bool,
    /// A closed window is probed with one byte for as long as the peer answers.
    pub probe: bool,
    /// The timer retransmits SYN-ACKs. In SYN-SENT only a SYN-ACK opens the connection.
    pub handshake: bool,
    /// A FIN is accepted also with data and in FIN-WAIT-2; a retransmitted FIN is unchanged.
    pub fin: bool,
    /// Checksums of received segments are verified.
    pub checksum: bool,
    /// Ports and initial sequence numbers are random.
    pub numbers: bool,
}

impl Corrections {
    /// The corrections of Kim et al. 2015.
    pub const KIM2015: Corrections = Corrections {
        counter: true,
        syn: true,
        ..Corrections::NONE
    };

    /// No correction: BLIP as published.
    pub const NONE: Corrections = Corrections {
        counter: false,
        syn: false,
        write: false,
        window: false,
        duplicates: false,
        acknowledgments: false,
        old: false,
        probe: false,
        handshake: false,
        fin: false,
        checksum: false,
        numbers: false,
    };

    pub const NAMES: [&'static str; 12] = [
        "counter",
        "syn",
        "write",
        "window",
        "duplicates",
        "acknowledgments",
        "old",
        "probe",
        "handshake",
        "fin",
        "checksum",
        "numbers",
    ];

    /// Sets the correction `name`; returns whether there is such a correction.
    pub fn set(&mut self, name: &str) -> bool {
        let switch = match name {
            "counter" => &mut self.counter,
            "syn" => &mut self.syn,
            "write" => &mut self.write,
            "window" => &mut self.window,
            "duplicates" => &mut self.duplicates,
            "acknowledgments" => &mut self.acknowledgments,
            "old" => &mut self.old,
            "probe" => &mut self.probe,
            "handshake" => &mut self.handshake,
            "fin" => &mut self.fin,
            "checksum" => &mut self.checksum,
            "numbers" => &mut self.numbers,
            _ => return false,
        };
        *switch = true;
        true
    }
}
