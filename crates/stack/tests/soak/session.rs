//! The behaviour of the two applications of a connection.

use redpoll_base::{Instant, Rng};
use redpoll_stack::{ConnId, Error};
use redpoll_tcp::State;

use crate::common::TestNode;

/// Bytes of the session's number, with which the opener's stream begins.
pub const HEADER: usize = 8;
const MOST: u32 = 700;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ending {
    /// This role (0 opened, 1 accepted) closes when it has received everything; then the other role
    /// closes.
    First(usize),
    /// Each role closes when it has sent everything.
    Both,
    /// This role aborts after this number of received bytes.
    Abort(usize, usize),
    /// This role releases without a close, after this number of received bytes.
    Leave(usize, usize),
}

#[derive(Clone, Debug)]
pub struct Plan {
    pub number: u64,
    bytes: [usize; 2],
    ending: Ending,
    salt: u8,
}

impl Plan {
    pub fn new(seed: u64, number: u64) -> Plan {
        let mut rng = Rng::stream(seed, number);
        let bytes = [HEADER + rng.below(MOST) as usize, rng.below(MOST) as usize];
        let role = rng.below(2) as usize;
        let early = rng.below(MOST) as usize;
        let ending = match rng.below(10) {
            0 => Ending::Abort(role, early.min(bytes[1 - role])),
            1 => Ending::Leave(role, early.min(bytes[1 - role])),
            2..=4 => Ending::Both,
            _ => Ending::First(role),
        };
        Plan {
            number,
            bytes,
            ending,
            salt: rng.next_u32() as u8,
        }
    }

    /// Returns whether one of the roles aborts or releases early.
    pub fn is_broken_off(&self) -> bool {
        matches!(self.ending, Ending::Abort(..) | Ending::Leave(..))
    }

    fn byte(&self, role: usize, at: usize) -> u8 {
        match self.number.to_be_bytes().get(at) {
            Some(&byte) if role == 0 => byte,
            _ => (at as u8).wrapping_mul(29).wrapping_add(self.salt) ^ role as u8,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Over {
    Well,
    /// Ended as planned, before the end of the streams.
    BrokenOff,
    Failed,
}

/// One end of a connection: role 0 opened it, role 1 accepted it.
#[derive(Debug)]
pub struct End {
    pub conn: ConnId,
    role: usize,
    /// Plan of the session; the accepting role reads it from the first bytes.
    pub plan: Option<Plan>,
    header: Vec<u8>,
    sent: usize,
    pub received: usize,
    pub closed: bool,
    ended: bool,
}

impl End {
    pub fn new(conn: ConnId, plan: Option<Plan>) -> End {
        End {
            conn,
            role: usize::from(plan.is_none()),
            plan,
            header: Vec::new(),
            sent: 0,
            received: 0,
            closed: false,
            ended: false,
        }
    }

    /// 0 opened, 1 accepted.
    pub fn role(&self) -> usize {
        self.role
    }

    /// Performs the possible calls. At the end, releases the connection and returns the outcome.
    pub fn step(&mut self, now: Instant, node: &mut TestNode, seed: u64) -> Option<Over> {
        let over = self.attend(now, node, seed)?;
        node.tcp_release(now, self.conn);
        Some(over)
    }

    fn attend(&mut self, now: Instant, node: &mut TestNode, seed: u64) -> Option<Over> {
        if self.receive(now, node, seed).is_err() || self.send(now, node).is_err() {
            return Some(Over::Failed);
        }
        let plan = self.plan.as_ref()?;
        let wanted = plan.bytes[1 - self.role];
        let may_close = match plan.ending {
            Ending::Abort(role, at) if role == self.role && self.received >= at => {
                node.tcp_abort(now, self.conn);
                return Some(Over::BrokenOff);
            }
            Ending::Leave(role, at) if role == self.role && self.received >= at => {
                return Some(Over::BrokenOff);
            }
            Ending::First(role) if role == self.role => self.received == wanted,
            Ending::First(_) => self.ended,
            _ => true,
        };
        // RFC 9293 §3.10.4: in SYN-SENT a close would end the connection.
        let state = node.tcp_connection(self.conn).map(|conn| conn.state());
        let may_close = may_close && state != Some(State::SynSent);
        if self.sent == plan.bytes[self.role] && may_close && !self.closed {
            node.tcp_close(now, self.conn);
            self.closed = true;
        }
        (self.ended && self.closed).then_some(Over::Well)
    }

    fn receive(&mut self, now: Instant, node: &mut TestNode, seed: u64) -> Result<(), Error> {
        let mut block = [0; 256];
        while !self.ended {
            let len = match node.tcp_recv(now, self.conn, &mut block) {
                Ok(len) => len,
                Err(Error::WouldBlock) => break,
                Err(error) => return Err(error),
            };
            self.ended = len == 0;
            for &byte in &block[..len] {
                self.take(byte, seed);
            }
        }
        if let Some(plan) = self.plan.as_ref().filter(|_| self.ended) {
            assert_eq!(
                self.received,
                plan.bytes[1 - self.role],
                "the end of {plan:?}"
            );
        }
        Ok(())
    }

    fn take(&mut self, byte: u8, seed: u64) {
        if let Some(plan) = &self.plan {
            assert_eq!(byte, plan.byte(1 - self.role, self.received), "{self:?}");
        } else {
            self.header.push(byte);
            if let Ok(number) = self.header.as_slice().try_into() {
                self.plan = Some(Plan::new(seed, u64::from_be_bytes(number)));
            }
        }
        self.received += 1;
    }

    fn send(&mut self, now: Instant, node: &mut TestNode) -> Result<(), Error> {
        let Some(plan) = &self.plan else {
            return Ok(());
        };
        let rest = self.sent..plan.bytes[self.role];
        if rest.is_empty() || self.closed {
            return Ok(());
        }
        let bytes: Vec<u8> = rest.map(|at| plan.byte(self.role, at)).collect();
        match node.tcp_send(now, self.conn, &bytes) {
            Ok(count) => self.sent += count,
            Err(Error::WouldBlock) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
