//! Draws the options of every layer.

use super::{Draft, bytes, millis, percent, seconds};
use crate::draw::Draw;

impl Draft {
    pub(super) fn options(&mut self, draw: &mut Draw) {
        self.maybe(draw, 2, "radio.model", |draw| {
            *draw.pick(&["at86rf233", "cc2420", "ideal"])
        });
        self.maybe(draw, 3, "clock.drift_ppm", |draw| {
            draw.between(1, 200) as i64
        });
        self.mac(draw);
        self.lowpan(draw);
        self.tcp(draw);
        if self.is_rpl {
            self.rpl(draw);
        }
        self.border(draw);
    }

    fn mac(&mut self, draw: &mut Draw) {
        let sleeps = self.nodes.iter().any(|node| node.is_sleepy);
        if !sleeps {
            self.maybe(draw, 5, "mac.access", |draw| {
                *draw.pick(&["nullrdc", "contikimac", "x-mac", "cx-mac", "lpp"])
            });
            self.maybe(draw, 4, "mac.addresses", |_| "extended");
        }
        self.maybe(draw, 3, "mac.max_frame_retries", |draw| {
            draw.between(0, 12) as i64
        });
        self.maybe(draw, 4, "mac.min_be", |draw| draw.between(0, 4) as i64);
        self.maybe(draw, 4, "mac.max_csma_backoffs", |draw| {
            draw.between(0, 8) as i64
        });
        self.maybe(draw, 5, "mac.backoff", |_| "tinyos");
        self.maybe(draw, 4, "mac.ifs", |draw| {
            *draw.pick(&["minimum", "sequential", "off"])
        });
        self.maybe(draw, 3, "mac.link_retry_delay", |draw| {
            millis(draw.between(0, 100))
        });
        self.maybe(draw, 5, "mac.deaf_backoff", |_| true);
        self.maybe(draw, 6, "mac.be_by_queue", |_| true);
        if draw.one_in(4) && !self.has("mac.access") {
            let level = *draw.pick(&["mic-32", "mic-64", "mic-128", "enc-mic-32", "enc-mic-128"]);
            self.set("security.level", level);
            self.set("security.key", "000102030405060708090a0b0c0d0e0f");
            self.maybe(draw, 3, "security.counter_stretch", |draw| {
                draw.between(1, 100) as i64
            });
            self.maybe(draw, 4, "security.key_index", |_| 0);
        }
    }

    fn lowpan(&mut self, draw: &mut Draw) {
        match draw.index(6) {
            0 => self.set("lowpan.fragment_forwarding", true),
            1 => {
                self.set("lowpan.fragment_recovery", true);
                self.maybe(draw, 3, "lowpan.fragment_window", |draw| {
                    draw.between(1, 32) as i64
                });
                self.maybe(draw, 3, "lowpan.fragment_retries", |draw| {
                    draw.between(0, 5) as i64
                });
                self.maybe(draw, 3, "lowpan.datagram_retries", |draw| {
                    draw.between(0, 3) as i64
                });
            }
            _ => {}
        }
        self.maybe(draw, 3, "lowpan.slots", |draw| draw.between(2, 8) as i64);
        self.maybe(draw, 4, "lowpan.fragments", |draw| {
            draw.between(2, 24) as i64
        });
        self.maybe(draw, 5, "lowpan.drop_rest", |_| false);
        self.maybe(draw, 5, "lowpan.frame_pending", |_| false);
        self.maybe(draw, 6, "lowpan.fragment_burst", |_| true);
        self.maybe(draw, 6, "lowpan.segment_burst", |_| true);
        self.maybe(draw, 6, "lowpan.join_fragments", |_| true);
        self.maybe(draw, 4, "lowpan.reassembly_timeout", |draw| {
            millis(draw.between(200, 10_000))
        });
        self.maybe(draw, 4, "lowpan.red", |_| true);
        self.maybe(draw, 5, "lowpan.pause", |draw| millis(draw.between(0, 30)));
        self.maybe(draw, 4, "indirect.limit", |draw| draw.between(1, 6) as i64);
        self.maybe(draw, 5, "indirect.burst", |_| false);
        self.maybe(draw, 5, "indirect.preempt", |_| false);
        if self.nodes.iter().any(|node| node.is_sleepy) {
            let longest = *draw.pick(&[5, 20, 240]);
            self.limits.poll_s = draw.between(1, longest);
            self.set("poll.base_interval", seconds(self.limits.poll_s));
        }
    }

    fn tcp(&mut self, draw: &mut Draw) {
        self.maybe(draw, 2, "tcp.mss", |draw| {
            if draw.one_in(2) {
                format!("{} frames", draw.between(1, 6))
            } else {
                bytes(draw.between(32, 900))
            }
        });
        for buffer in ["tcp.send_buffer", "tcp.receive_buffer"] {
            self.maybe(draw, 2, buffer, |draw| bytes(draw.between(64, 4_096)));
        }
        for (flag, usual) in [
            ("tcp.nagle", true),
            ("tcp.timestamps", true),
            ("tcp.sack", true),
            ("tcp.rack", true),
            ("tcp.tail_probes", true),
            ("tcp.prr", true),
            ("tcp.f_rto", true),
            ("tcp.new_start", true),
            ("tcp.link_feedback", true),
            ("tcp.queue_window", false),
            ("tcp.fast_open", false),
        ] {
            self.maybe(draw, 5, flag, |_| !usual);
        }
        self.maybe(draw, 3, "tcp.connections", |draw| draw.between(1, 4) as i64);
        self.maybe(draw, 3, "tcp.delayed_ack", |draw| {
            millis(draw.between(0, 500))
        });
        self.maybe(draw, 4, "tcp.ack_every", |draw| draw.between(1, 4) as i64);
        self.maybe(draw, 3, "tcp.initial_rto", |draw| {
            millis(draw.between(200, 5_000))
        });
        self.maybe(draw, 3, "tcp.min_rto", |draw| {
            millis(draw.between(100, 3_000))
        });
        self.maybe(draw, 2, "tcp.syn_retries", |draw| draw.between(0, 4) as i64);
        // With the defaults of `max_rto` and `max_retries`, a run would take several times longer.
        if !draw.one_in(8) {
            self.limits.max_rto_s = draw.between(5, 15);
            self.limits.retries = draw.between(2, 6);
            self.set("tcp.max_rto", seconds(self.limits.max_rto_s));
            self.set("tcp.max_retries", self.limits.retries as i64);
        }
        self.maybe(draw, 4, "tcp.time_wait", |draw| {
            seconds(draw.between(0, 30))
        });
        if draw.one_in(4) {
            self.set("tcp.keepalive_idle", seconds(draw.between(5, 60)));
            self.set("tcp.keepalive_interval", seconds(draw.between(2, 30)));
            self.set("tcp.keepalive_count", draw.between(1, 5) as i64);
        }
        self.maybe(draw, 4, "tcp.recovery", |_| "duplicates");
        self.maybe(draw, 4, "tcp.ecn", |draw| {
            *draw.pick(&["off", "agreed", "asked"])
        });
        self.maybe(draw, 3, "tcp.congestion", |draw| {
            *draw.pick(&["cubic", "off"])
        });
    }

    fn rpl(&mut self, draw: &mut Draw) {
        self.maybe(draw, 2, "rpl.mode", |_| "non-storing");
        self.maybe(draw, 3, "rpl.objective", |draw| {
            *draw.pick(&["of0", "tinyrpl-of0"])
        });
        self.maybe(draw, 3, "rpl.dio_interval_min", |draw| {
            draw.between(7, 12) as i64
        });
        self.maybe(draw, 3, "rpl.lifetime", |draw| {
            format!("{} min", draw.between(1, 10))
        });
        self.maybe(draw, 4, "rpl.version_interval", |draw| {
            seconds(draw.between(60, 300))
        });
        self.maybe(draw, 4, "rpl.dao_ack", |_| false);
        self.maybe(draw, 4, "rpl.dao_targets", |draw| {
            draw.between(1, 20) as i64
        });
        self.maybe(draw, 5, "rpl.tunnels", |_| false);
        self.maybe(draw, 5, "rpl.packet_option", |_| "rfc6553");
        self.maybe(draw, 4, "rpl.probe_interval", |draw| {
            seconds(draw.between(5, 120))
        });
        self.maybe(draw, 4, "rpl.neighbours", |draw| draw.between(2, 12) as i64);
        self.maybe(draw, 5, "rpl.load_aware", |_| true);
    }

    fn border(&mut self, draw: &mut Draw) {
        match draw.index(8) {
            0 => self.set("border.taim", true),
            1 => self.set("border.fair_queue", *draw.pick(&["drr", "fq-codel"])),
            2 => self.set("border.spare_one_segment", true),
            3 => self.set("border.serial_rate", draw.between(20_000, 500_000) as i64),
            4 if !self.is_rpl => {
                self.set("cache.on", "every router");
                self.set("cache.rules", *draw.pick(&["cctrl", "dtc", "tss"]));
            }
            _ => {}
        }
        self.maybe(draw, 3, "border.host_delay", |draw| {
            millis(draw.between(0, 200))
        });
        self.maybe(draw, 4, "border.queue", |draw| draw.between(0, 20) as i64);
        if !self.has("medium.model") {
            self.maybe(draw, 6, "medium.success_ratio_rx", |draw| {
                percent(draw.between(70, 99))
            });
        }
    }
}
