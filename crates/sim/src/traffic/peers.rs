//! Which flow a connection or a datagram belongs to: the sender says so when
//! it opens its socket, the receiver looks it up by the addresses it sees.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use redpoll_base::Addr;
use redpoll_tcp::Endpoint;

use crate::oracle::FlowId;

/// The addresses of both ends.
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

/// The pairs in use, shared by all apps of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Peers(Rc<RefCell<Pairs>>);

#[derive(Debug, Default)]
struct Pairs {
    flows: BTreeMap<Pair, FlowId>,
    pairs: BTreeMap<FlowId, Pair>,
}

impl Peers {
    /// From now on `flow` is what goes over `pair`, and over no other.
    pub(super) fn set(&self, pair: Pair, flow: FlowId) {
        let mut pairs = self.0.borrow_mut();
        if let Some(old) = pairs.pairs.insert(flow, pair) {
            pairs.flows.remove(&old);
        }
        pairs.flows.insert(pair, flow);
    }

    /// The flow over `pair`; `None` for what a sender has given up on, and for
    /// strangers.
    pub(super) fn flow(&self, pair: &Pair) -> Option<FlowId> {
        self.0.borrow().flows.get(pair).copied()
    }
}
