//! Applications of simulated nodes.

use redpoll_base::Instant;
use redpoll_stack::NodeEvent;

use crate::node::SimNode;
use crate::oracle::Oracle;

/// What an application has to work with when it is called.
pub struct Context<'a> {
    /// The time.
    pub now: Instant,
    /// The node that the application runs on.
    pub node: &'a mut SimNode,
    /// To tell what was sent and received.
    pub oracle: &'a mut Oracle,
}

/// An application on a node.
pub trait App {
    /// The run begins.
    fn start(&mut self, cx: &mut Context<'_>);

    /// Something happened at one of the node's sockets, not necessarily one of
    /// this application's.
    fn on_event(&mut self, cx: &mut Context<'_>, event: &NodeEvent);

    /// The time that [`next_timer`](Self::next_timer) asked for has come.
    fn on_timer(&mut self, cx: &mut Context<'_>);

    /// When the application wants to be called next, events apart.
    fn next_timer(&self) -> Option<Instant>;
}
