//! The expiry of a connection's timer: retransmissions, and the limit of their number.

use redpoll_base::Bytes;
use redpoll_tcp::State;

use super::burst::Burst;
use super::control::{FIN, LATE_FIN, SYN, SYN_ACK};
use super::{Blip, Control, FIN_TICKS};
use crate::Body;

impl Blip {
    /// Handles the end of the timer's countdown.
    pub(super) fn on_expiry<B: Bytes>(&mut self, c: &mut Control, body: &mut Body<B>) {
        let config = &self.config;
        match c.state {
            State::SynSent => {
                c.due |= SYN;
                c.retx = config.rto;
                self.count(c, body);
                body.on_rto();
            }
            State::SynReceived => {
                c.due |= SYN_ACK;
                c.retx = config.rto;
                self.count(c, body);
                body.on_rto();
            }
            State::Established | State::CloseWait if c.outstanding() > 0 => {
                if c.sent > c.head {
                    body.on_rto();
                }
                c.reduce(config.mss);
                c.cwnd = config.mss;
                self.send_all(c);
                if c.rwnd == 0 && config.corrections.probe {
                    c.burst = Some(Burst {
                        next: c.head,
                        is_first: true,
                        end: c.head + 1,
                        ack: c.ackno,
                    });
                    (c.rwnd, c.count) = (1, 0);
                }
                self.count(c, body);
            }
            State::LastAck | State::FinWait1 | State::Closing => {
                // Without the correction `fin`, the acknowledged sequence number is 1 too high.
                c.due |= if config.corrections.fin {
                    FIN
                } else {
                    LATE_FIN
                };
                c.retx = FIN_TICKS;
                self.count(c, body);
            }
            State::FinWait2 => c.end(body, None),
            State::TimeWait => {
                let error = body.error;
                c.end(body, error);
            }
            State::Established | State::CloseWait | State::Closed => {}
        }
    }

    /// Counts a timer-driven send; at the limit, gives the connection up. The first transmission of
    /// a SYN is not counted.
    fn count<B: Bytes>(&self, c: &mut Control, body: &mut Body<B>) {
        c.count += 1;
        let burst = c.burst;
        let due = c.due;
        if c.count >= self.config.give_up {
            c.give_up(body);
            // Keep the transmission that was due before the connection was given up.
            (c.burst, c.due) = (burst, due);
        }
    }
}
