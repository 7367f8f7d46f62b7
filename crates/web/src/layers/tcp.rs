//! The header of a TCP segment (RFC 9293 §3.1), as far as it is there: the rest of the
//! segment may be in other fragments, so no checksum is looked at.

/// See the [module](self).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tcp {
    /// Source and destination port.
    pub ports: [u16; 2],
    /// SEG.SEQ.
    pub seq: u32,
    /// SEG.ACK, with the ACK flag.
    pub ack: Option<u32>,
    /// Control bits, FIN the lowest.
    pub flags: u8,
    /// SEG.WND, not scaled.
    pub window: u16,
    /// SEG.LEN, without SYN and FIN.
    pub len: u32,
    /// Maximum segment size.
    pub mss: Option<u16>,
    /// Window scale.
    pub scale: Option<u8>,
    /// Timestamps (RFC 7323 §3).
    pub timestamps: Option<[u32; 2]>,
    /// Selective acknowledgements (RFC 2018 §3): begins and ends.
    pub sack: Vec<[u32; 2]>,
    /// SACK is permitted.
    pub may_sack: bool,
}

/// Control bits by their letters in a dump.
const LETTERS: [(u8, char); 8] = [
    (0x02, 'S'),
    (0x01, 'F'),
    (0x04, 'R'),
    (0x08, 'P'),
    (0x10, '.'),
    (0x20, 'U'),
    (0x40, 'E'),
    (0x80, 'C'),
];

impl Tcp {
    /// FIN.
    pub const FIN: u8 = 0x01;
    /// SYN.
    pub const SYN: u8 = 0x02;
    /// RST.
    pub const RST: u8 = 0x04;
    /// ACK.
    pub const ACK: u8 = 0x10;

    /// The header at the beginning of `bytes`, of a segment of `whole` bytes in all.
    pub fn parse(bytes: &[u8], whole: usize) -> Option<Tcp> {
        let (fixed, _) = bytes.split_first_chunk::<20>()?;
        let word = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
        let header_len = usize::from(fixed[12] >> 4) * 4;
        if header_len < 20 || header_len > whole {
            return None;
        }
        let flags = fixed[13];
        let mut tcp = Tcp {
            ports: [word(0), word(2)],
            seq: long(&fixed[4..])?,
            ack: long(&fixed[8..]).filter(|_| flags & Tcp::ACK != 0),
            flags,
            window: word(14),
            len: u32::try_from(whole - header_len).ok()?,
            ..Tcp::default()
        };
        // Options that are in another fragment are left out.
        if let Some(options) = bytes.get(20..header_len) {
            tcp.read_options(options);
        }
        Some(tcp)
    }

    fn read_options(&mut self, mut options: &[u8]) {
        loop {
            let (kind, value) = match *options {
                [] | [0, ..] => return,
                [1, ref rest @ ..] => {
                    options = rest;
                    continue;
                }
                [kind, len, ..] if len >= 2 && usize::from(len) <= options.len() => {
                    let (option, rest) = options.split_at(usize::from(len));
                    options = rest;
                    (kind, &option[2..])
                }
                _ => return,
            };
            match (kind, value) {
                (2, &[high, low]) => self.mss = Some(u16::from_be_bytes([high, low])),
                (3, &[shift]) => self.scale = Some(shift),
                (4, &[]) => self.may_sack = true,
                (5, blocks) => {
                    let ends = |block: &[u8]| Some([long(block)?, long(block.get(4..)?)?]);
                    self.sack = blocks.chunks_exact(8).filter_map(ends).collect();
                }
                (8, stamps) => {
                    let both = long(stamps).zip(stamps.get(4..).and_then(long));
                    self.timestamps = both.map(|(val, ecr)| [val, ecr]);
                }
                _ => {}
            }
        }
    }

    /// The control bits that are set, a letter each; ACK is a dot.
    pub fn letters(&self) -> String {
        let set = LETTERS.iter().filter(|(bit, _)| self.flags & bit != 0);
        set.map(|(_, letter)| *letter).collect()
    }

    /// What it takes of the sequence space.
    pub fn space(&self) -> u32 {
        let ends = [Tcp::SYN, Tcp::FIN].iter();
        self.len + ends.filter(|bit| self.flags & **bit != 0).count() as u32
    }
}

fn long(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().copied().map(u32::from_be_bytes)
}
