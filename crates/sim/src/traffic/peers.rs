//! Maps a connection or a datagram to its flow. The sender registers the flow when it opens its
//! socket; the receiver looks the flow up by the addresses, the ports and, for TCP, the initial
//! sequence number of the sender, because a later connection may use the same ports.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use redpoll_base::Addr;
use redpoll_stack::ConnId;
use redpoll_tcp::{Endpoint, SeqNum, State};

use crate::node::SimNode;
use crate::oracle::FlowId;

/// Addresses and ports of both ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Pair {
    sender: (Addr, u16),
    receiver: (Addr, u16),
}

impl Pair {
    pub(super) fn new(sender: Endpoint, receiver: Endpoint) -> Pair {
        Pair {
            sender: (sender.addr, sender.port),
            receiver: (receiver.addr, receiver.port),
        }
    }
}

/// The pairs of endpoints in use, shared by all apps of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Peers(Rc<RefCell<Pairs>>);

#[derive(Debug, Default)]
struct Pairs {
    flows: BTreeMap<Pair, (FlowId, Option<SeqNum>)>,
    pairs: BTreeMap<FlowId, Pair>,
}

impl Peers {
    /// Assigns `pair` to `flow`, and removes the flow's previous pair. `iss` is the initial send
    /// sequence number of the sender, if known.
    pub(super) fn set(&self, pair: Pair, iss: Option<SeqNum>, flow: FlowId) {
        self.forget(flow);
        let mut pairs = self.0.borrow_mut();
        pairs.pairs.insert(flow, pair);
        pairs.flows.insert(pair, (flow, iss));
    }

    /// Forgets the pair of `flow`, whose connection was lost. Bytes that the receiver still reads
    /// from this connection belong to no flow.
    pub(super) fn forget(&self, flow: FlowId) {
        let pairs = &mut *self.0.borrow_mut();
        let Some(old) = pairs.pairs.remove(&flow) else {
            return;
        };
        // Another flow of the same node may have taken over the pair, by chance.
        if pairs
            .flows
            .get(&old)
            .is_some_and(|(owner, _)| *owner == flow)
        {
            pairs.flows.remove(&old);
        }
    }

    /// Returns the flow over `pair` whose initial sequence number is `irs`; `None` for a connection
    /// that its sender has abandoned, and for hosts outside the scenario.
    pub(super) fn flow(&self, pair: &Pair, irs: Option<SeqNum>) -> Option<FlowId> {
        let (flow, iss) = self.0.borrow().flows.get(pair).copied()?;
        let is_earlier = iss.zip(irs).is_some_and(|(iss, irs)| iss != irs);
        (!is_earlier).then_some(flow)
    }
}

/// Returns the initial send sequence number (ISS) of a connection that has sent nothing yet; `None`
/// if the TCP is not Redpoll's.
pub(super) fn iss(node: &SimNode, conn: ConnId) -> Option<SeqNum> {
    let snd_nxt = node.tcp_connection(conn)?.info().snd_nxt;
    Some(snd_nxt)
}

/// Returns the initial receive sequence number (IRS) of an open connection; `None` if the TCP is
/// not Redpoll's.
pub(super) fn irs(node: &SimNode, conn: ConnId) -> Option<SeqNum> {
    use State::{CloseWait, Closing, LastAck, TimeWait};
    let connection = node.tcp_connection(conn)?;
    let rcv_nxt = connection.info().rcv_nxt;
    let has_fin = matches!(connection.state(), CloseWait | Closing | LastAck | TimeWait);
    let controls = 1 + u32::from(has_fin);
    let received = connection.counted()?.bytes_received;
    Some(SeqNum(
        rcv_nxt.0.wrapping_sub(received).wrapping_sub(controls),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::Oracle;
    use redpoll_base::Addr;

    fn pair(sender: u16) -> Pair {
        let [sender, receiver] = [sender, 80].map(|port| Endpoint {
            addr: Addr::UNSPECIFIED,
            port,
        });
        Pair::new(sender, receiver)
    }

    #[test]
    fn a_connection_with_other_initial_numbers_is_of_no_flow() {
        let pair = pair(1);
        let flow = Oracle::default().flow("readings", "a", "b");
        let peers = Peers::default();
        peers.set(pair, Some(SeqNum(7)), flow);
        assert_eq!(peers.flow(&pair, Some(SeqNum(7))), Some(flow));
        assert_eq!(peers.flow(&pair, None), Some(flow));
        assert_eq!(peers.flow(&pair, Some(SeqNum(8))), None);
        peers.set(pair, None, flow);
        assert_eq!(peers.flow(&pair, Some(SeqNum(8))), Some(flow));
        peers.forget(flow);
        assert_eq!(peers.flow(&pair, None), None);
    }

    /// Checks that a flow loses only its own pair when it connects again or gives up: another flow
    /// of the same node may use its former port.
    #[test]
    fn a_pair_belongs_to_the_flow_that_took_it_last() {
        let mut oracle = Oracle::default();
        let [one, other] = ["one", "other"].map(|name| oracle.flow(name, "a", "b"));
        for number in [None, Some(SeqNum(7))] {
            for again in [true, false] {
                let peers = Peers::default();
                peers.set(pair(1), number, one);
                peers.set(pair(1), number, other);
                assert_eq!(peers.flow(&pair(1), number), Some(other));
                if again {
                    peers.set(pair(2), number, one);
                    assert_eq!(peers.flow(&pair(2), number), Some(one));
                } else {
                    peers.forget(one);
                }
                assert_eq!(peers.flow(&pair(1), number), Some(other), "{again}");
                peers.forget(other);
                assert_eq!(peers.flow(&pair(1), number), None);
            }
        }
    }
}
