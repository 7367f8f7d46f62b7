//! Draws the apps.

use super::{CALM_BEFORE, Draft, bytes, millis, seconds};
use crate::draw::Draw;

const HOST: &str = "host";

/// Port of the first server; each further server has the next port.
const FIRST_PORT: u64 = 5_001;

impl Draft {
    pub(super) fn apps(&mut self, draw: &mut Draw) {
        for number in 0..draw.between(1, 4) {
            let server = self.place(draw);
            let mut client = self.place(draw);
            while client == server {
                client = self.place(draw);
            }
            let is_tcp = self.pair(draw, number, &server, &client);
            for node in &mut self.nodes {
                node.has_datagrams |= !is_tcp && [&server, &client].contains(&&node.name);
            }
        }
    }

    /// Chooses a node or the host at random, and returns its name.
    fn place(&self, draw: &mut Draw) -> String {
        if draw.one_in(5) {
            HOST.to_owned()
        } else {
            self.any_node(draw)
        }
    }

    /// Adds a server and its client. Returns whether they use TCP.
    fn pair(&mut self, draw: &mut Draw, number: u64, server: &str, client: &str) -> bool {
        let port = FIRST_PORT + number;
        let (from, to) = (format!("apps.c{number}"), format!("apps.s{number}"));
        let kind = draw.index(8);
        let (asks, serves) = match kind {
            0..4 => ("bulk-sender", "bulk-sink"),
            4 => ("http-client", "http-server"),
            5 => ("coap-client", "coap-server"),
            _ => ("sensor", "bulk-sink"),
        };
        self.set(&format!("{from}.type"), asks);
        self.set(&format!("{from}.on"), client);
        self.set(&format!("{from}.to"), format!("{server}:{port}"));
        self.set(
            &format!("{from}.start"),
            millis(draw.between(0, 1_000 * CALM_BEFORE)),
        );
        let mut is_tcp = kind != 5;
        match kind {
            0..4 => {
                self.maybe(draw, 5, &format!("{from}.resume"), |_| true);
                // An endless transfer may starve other streams although no code is wrong.
                let total = if draw.one_in(4) {
                    draw.between(1, 500)
                } else {
                    draw.between(500, 60_000)
                };
                self.set(&format!("{from}.total"), bytes(total));
            }
            4 | 5 => {
                self.limits.has_requests = true;
                self.set(&format!("{from}.interval"), seconds(draw.between(2, 60)));
                self.maybe(draw, 2, &format!("{from}.count"), |draw| {
                    draw.between(1, 50) as i64
                });
                self.set(&format!("{to}.file"), bytes(draw.between(0, 5_000)));
            }
            _ => is_tcp = self.sensor(draw, &from, &to),
        }
        let to_type = format!("{to}.type");
        if !self.has(&to_type) {
            self.set(&to_type, serves);
        }
        self.set(&format!("{to}.on"), server);
        self.set(&format!("{to}.port"), port as i64);
        if is_tcp && serves == "bulk-sink" {
            self.maybe(draw, 4, &format!("{to}.read_rate"), |draw| {
                bytes(draw.between(20, 2_000))
            });
        }
        is_tcp
    }

    /// Returns whether the sensor uses TCP.
    fn sensor(&mut self, draw: &mut Draw, from: &str, to: &str) -> bool {
        let transport = *draw.pick(&["tcp", "tcp", "coap", "cocoa", "unreliable"]);
        self.set(&format!("{from}.transport"), transport);
        self.set(
            &format!("{from}.interval"),
            millis(draw.between(500, 20_000)),
        );
        self.maybe(draw, 2, &format!("{from}.batch"), |draw| {
            draw.between(1, 32) as i64
        });
        if transport != "tcp" {
            self.set(&format!("{to}.type"), "coap-server");
        }
        transport == "tcp"
    }
}
