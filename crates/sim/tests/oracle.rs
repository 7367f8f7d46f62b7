//! The oracle can fail: it detects one wrong byte at a receiver, and accepts the run without it.

use redpoll_base::Instant;
use redpoll_sim::{App, Context, FlowId, Scenario, World};
use redpoll_stack::{ConnId, ListenerId, NodeEvent};
use redpoll_tcp::Event;

/// Change of the stream between TCP and the oracle.
#[derive(Clone, Copy, Debug)]
enum Mutation {
    None,
    DoubleByte,
    LoseByte,
    SwapBytes,
    FlipBit,
}

/// A bulk sink that makes one mistake after `after` bytes.
struct Sink {
    mutation: Mutation,
    after: usize,
    listener: Option<ListenerId>,
    conn: Option<ConnId>,
    flow: Option<FlowId>,
}

impl Sink {
    fn read(&mut self, cx: &mut Context<'_>) {
        let (Some(conn), Some(flow)) = (self.conn, self.flow) else {
            return;
        };
        let mut chunk = [0; 512];
        while let Ok(len) = cx.node.tcp_recv(cx.now, conn, &mut chunk) {
            if len == 0 {
                cx.oracle.ended(flow, cx.now);
                return;
            }
            let mut bytes = chunk[..len].to_vec();
            if self.after < len - 1 {
                let at = self.after;
                match std::mem::replace(&mut self.mutation, Mutation::None) {
                    Mutation::None => {}
                    Mutation::DoubleByte => bytes.insert(at, bytes[at]),
                    Mutation::LoseByte => drop(bytes.remove(at)),
                    Mutation::SwapBytes => bytes.swap(at, at + 1),
                    Mutation::FlipBit => bytes[at] ^= 1,
                }
            }
            self.after = self.after.saturating_sub(len);
            cx.oracle.received(flow, cx.now, &bytes);
        }
    }
}

impl App for Sink {
    fn start(&mut self, cx: &mut Context<'_>) {
        self.listener = cx.node.tcp_listen(5001).ok();
        self.flow = Some(cx.oracle.flow("bulk", "node-2", "node-1"));
    }

    fn on_event(&mut self, cx: &mut Context<'_>, event: &NodeEvent) {
        match event {
            NodeEvent::Accepted(listener) if Some(*listener) == self.listener => {
                self.conn = cx.node.tcp_accept(*listener);
            }
            NodeEvent::Tcp(_, Event::Readable | Event::PeerClosed) => self.read(cx),
            _ => {}
        }
    }

    fn on_timer(&mut self, _: &mut Context<'_>) {}

    fn next_timer(&self) -> Option<Instant> {
        None
    }
}

/// Returns the first violation of a transfer of 20,000 bytes with a mistake.
fn verdict(mutation: Mutation, after: usize) -> Option<String> {
    let overrides = [("apps.bulk.total".to_owned(), "20000 B".to_owned())];
    let mut scenario = Scenario::load("line-1", &overrides).unwrap_or_else(|e| panic!("{e}"));
    for node in scenario.nodes.iter_mut().chain(&mut scenario.host) {
        node.apps.retain(|app| app.name == "bulk");
    }
    let mut world = World::new(&scenario, 1).unwrap();
    let sink = Sink {
        mutation,
        after,
        listener: None,
        conn: None,
        flow: None,
    };
    world.add_app(0, Box::new(sink));
    world.run_until(Instant::from_millis(10_000));
    let report = world.report();
    assert!(report.flows[0].delivered_bytes >= 19_999);
    assert_eq!(report.oracle.ok, report.oracle.violations.is_empty());
    report.oracle.violations.first().cloned()
}

#[test]
fn the_transfer_itself_is_right() {
    assert_eq!(verdict(Mutation::None, 0), None);
}

#[test]
fn one_wrong_byte_is_found() {
    use Mutation::{DoubleByte, FlipBit, LoseByte, SwapBytes};
    for after in [0, 3_333, 19_500] {
        for mutation in [DoubleByte, LoseByte, SwapBytes, FlipBit] {
            let found = verdict(mutation, after);
            let text = found.unwrap_or_else(|| panic!("{mutation:?} after {after}"));
            assert!(text.contains("flow bulk: "), "{text}");
        }
    }
}
