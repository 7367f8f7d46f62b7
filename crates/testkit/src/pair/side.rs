//! One of the two sides: its connection, and its application, which writes and reads.

use redpoll_base::Instant;
use redpoll_tcp::{Connection, State};

use super::service::InService;
use super::{Link, Plan, pattern};
use crate::host::Buffer;

pub(super) struct Side {
    pub(super) conn: Option<Connection<Buffer>>,
    pub(super) plan: Plan,
    pub(super) link: Link,
    pub(super) serving: Option<InService>,
    pub(super) taken: u32,
    pub(super) served: u32,
    /// The time at which the connection of this side was frozen, and the frozen bytes.
    pub(super) frozen: Option<(Instant, Vec<u8>)>,
    /// Number of times that the connection was frozen.
    pub(super) freezes: u32,
    pub(super) written: usize,
    pub(super) closed: bool,
    pub(super) read: usize,
    pub(super) end_of_stream: bool,
    pub(super) read_armed: bool,
}

impl Side {
    pub(super) fn new(conn: Option<Connection<Buffer>>, plan: Plan, link: Link) -> Side {
        Side {
            conn,
            plan,
            link,
            serving: None,
            taken: 0,
            served: 0,
            frozen: None,
            freezes: 0,
            written: 0,
            closed: false,
            read: 0,
            end_of_stream: false,
            read_armed: false,
        }
    }

    pub(super) fn write_some(&mut self, side: usize, now: Instant) {
        let Some(conn) = &mut self.conn else { return };
        while self.written < self.plan.send && conn.send_room() > 0 {
            let len = self
                .plan
                .chunk
                .min(self.plan.send - self.written)
                .min(conn.send_room());
            let bytes: Vec<u8> = (self.written..self.written + len)
                .map(|at| pattern(side, at))
                .collect();
            match conn.send(now, &bytes) {
                Ok(count) => self.written += count,
                Err(_) => return,
            }
        }
        // Do not close in SYN-SENT, where CLOSE deletes the connection (RFC 9293 §3.10.4).
        let opening = conn.state() == State::SynSent;
        if self.written == self.plan.send && !self.closed && !opening {
            self.closed = true;
            conn.close(now);
        }
    }

    pub(super) fn read_some(&mut self, side: usize, now: Instant) {
        let Some(conn) = &mut self.conn else { return };
        let once = !self.plan.read_pause.is_zero();
        loop {
            let mut out = vec![0; self.plan.read_chunk.min(4096)];
            match conn.recv(now, &mut out) {
                Ok(0) => {
                    self.end_of_stream = true;
                    return;
                }
                Ok(count) => {
                    for byte in &out[..count] {
                        assert_eq!(*byte, pattern(1 - side, self.read), "byte {}", self.read);
                        self.read += 1;
                    }
                }
                Err(_) => return,
            }
            if once {
                return;
            }
        }
    }
}
