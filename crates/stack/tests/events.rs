//! Events of a node in the log (`redpoll_base::event!`).

use std::cell::RefCell;

use crate::common;

use common::lone::Lone;
use common::packets::udp;
use common::peer::{HOST, Peer};

thread_local! {
    /// The lines that this test has logged; other tests of the program run at the same time.
    static LINES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

struct Lines;

impl log::Log for Lines {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        let line = format!("{} {}", record.level(), record.args());
        LINES.with_borrow_mut(|lines| lines.push(line));
    }

    fn flush(&self) {}
}

#[test]
fn states_and_drops_are_logged() {
    // Fails if another test of the program has set the logger already, which does no harm.
    let _ = log::set_logger(&Lines);
    log::set_max_level(log::LevelFilter::Debug);
    let mut lone = Lone::border(|_| {});
    let listener = lone.node.tcp_listen(80).unwrap();
    Peer::open(&mut lone, 5_000);
    let conn = lone.node.tcp_accept(listener).unwrap();
    lone.node.tcp_close(lone.now, conn);
    lone.node.tcp_release(lone.now, conn);
    let to = lone.node.address();
    lone.host_sends(&udp(HOST, to, (1, 2), b"nobody listens"))
        .unwrap();
    let lines = LINES.take();
    for line in [
        "DEBUG port 80 to 5000: ESTABLISHED",
        "DEBUG port 80 to 5000: FIN-WAIT-1",
        "DEBUG packet dropped: no_udp_socket",
    ] {
        assert_eq!(
            lines.iter().filter(|it| *it == line).count(),
            1,
            "{line}: {lines:?}"
        );
    }
}
