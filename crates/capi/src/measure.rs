//! The state and the measurements of a connection.

use redpoll_base::{Bytes, Duration};
use redpoll_tcp::{Connection, State};

/// `struct rp_tcp_info`; `redpoll.h` describes each member.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct RpTcpInfo {
    pub srtt_us: u32,
    pub rto_us: u32,
    pub cwnd: u32,
    pub ssthresh: u32,
    pub in_flight: u32,
    pub mss: u32,
    pub send_room: u32,
    pub receive_queue: u32,
    pub state: u32,
}

impl RpTcpInfo {
    pub(crate) fn of<B: Bytes>(connection: &Connection<B>) -> RpTcpInfo {
        let info = connection.info();
        RpTcpInfo {
            srtt_us: info.srtt.map_or(0, micros),
            rto_us: micros(info.rto),
            cwnd: info.cwnd,
            ssthresh: info.ssthresh,
            in_flight: info.in_flight,
            mss: info.eff_snd_mss,
            send_room: bytes(connection.send_room()),
            receive_queue: bytes(connection.recv_queue()),
            state: number(connection.state()),
        }
    }
}

/// Returns Linux's number of a state.
pub(crate) fn number(state: State) -> u32 {
    match state {
        State::Established => 1,
        State::SynSent => 2,
        State::SynReceived => 3,
        State::FinWait1 => 4,
        State::FinWait2 => 5,
        State::TimeWait => 6,
        State::Closed => 7,
        State::CloseWait => 8,
        State::LastAck => 9,
        State::Closing => 11,
    }
}

fn micros(duration: Duration) -> u32 {
    u32::try_from(duration.as_micros()).unwrap_or(u32::MAX)
}

fn bytes(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
