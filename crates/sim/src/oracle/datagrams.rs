//! Which datagrams of a flow have been sent, and which have arrived.

/// Datagrams are numbered from 0, in the order in which they are sent.
#[derive(Debug, Default)]
pub(super) struct Datagrams {
    sent: u32,
    received: u64,
    /// One bit a datagram sent: whether it has arrived.
    arrived: Vec<u64>,
}

impl Datagrams {
    pub(super) fn sent(&mut self, seq: u32, _len: usize) -> Result<(), String> {
        if seq != self.sent {
            return Err(format!("datagram {seq} sent, expected {}", self.sent));
        }
        self.sent += 1;
        Ok(())
    }

    pub(super) fn received(&mut self, seq: u32) -> Result<(), String> {
        if seq >= self.sent {
            return Err(format!("datagram {seq} received that was never sent"));
        }
        let (word, bit) = (seq as usize / 64, 1 << (seq % 64));
        if word >= self.arrived.len() {
            self.arrived.resize(word + 1, 0);
        }
        if self.arrived[word] & bit != 0 {
            return Err(format!("datagram {seq} received twice"));
        }
        self.arrived[word] |= bit;
        self.received += 1;
        Ok(())
    }

    pub(super) fn sent_count(&self) -> u64 {
        self.sent.into()
    }

    pub(super) fn received_count(&self) -> u64 {
        self.received
    }
}
