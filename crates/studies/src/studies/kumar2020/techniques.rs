//! Table 1 as an ablation: each technique off and on, everything else equal.
//!
//! In-place reassembly cannot be switched off, because the engine has no other storage for data. A
//! copy would need as much additional memory as the largest amount of data out of order.

use super::features::{SEGMENTS, lossy as lossy_line};
use super::scenes::{delay, line, readings, uplink};
use super::web::{adaptive, not_adaptive};
use crate::vocabulary::probes::Slots;
use crate::vocabulary::profiles::tcplp;
use crate::vocabulary::read::{
    DUTY, GOODPUT, LATENCY, LOSS, goodput, latency, radio_duty_cycle, segment_loss,
};
use redpoll_experiments::{At, Case, Figure, Handle, Metric, Reading, Run};

const OFF: &str = "off";
const ON: &str = "on";

const GOODPUT_CSMA: Metric = Metric::new("goodput, software CSMA", "kb/s");
const GOODPUT_3: Metric = Metric::new("goodput over 3 hops", "kb/s");
const DUTY_POLL: Metric = Metric::new("radio duty cycle, one poll for all waiting frames", "%");
const DUTY_SCHEDULE: Metric = Metric::new("radio duty cycle, a learned poll schedule", "%");

/// Loses frames on the air. The share is calibrated: the paper's node without queue management has
/// its radio on for the paper's 3 %.
fn lossy(case: Case) -> Case {
    case.with(&[
        ("duration", "3600 s"),
        ("tcp.mss", "3 frames"),
        ("faults.air.type", "drop-frames"),
        ("faults.air.share", "10 %"),
    ])
}

/// A loss of 20 % of the frames, twice that of [`lossy`]. The paper makes no statement on this
/// loss.
const A_FIFTH: (&str, &str) = ("faults.air.share", "20 %");

/// Indirect frames as in OpenThread: no retransmission before the next poll, and no preemption.
const PLAIN_QUEUE: &[(&str, &str)] = &[
    ("indirect.retries", "0"),
    ("indirect.retry_delay", "40 ms"),
    ("indirect.preempt", "false"),
];

/// A technique: its name, its metric, and the cases without and with it.
struct Technique {
    name: &'static str,
    metric: Metric,
    read: fn(&Run) -> Reading,
    off: Case,
    on: Case,
}

struct Ablation(Figure);

impl Ablation {
    fn both(&mut self, it: &Technique) -> [Handle; 2] {
        let mut row = |series, case| {
            let entry = self
                .0
                .point(At::new(series, it.name), it.metric, case, it.read);
            entry.handle()
        };
        [row(OFF, &it.off), row(ON, &it.on)]
    }

    fn gain(&mut self, what: &'static str, it: &Technique) -> redpoll_experiments::Entry<'_> {
        let [off, on] = self.both(it);
        self.0.ratio(what, on, off)
    }
}

pub fn table_1() -> Figure {
    let figure = Figure::new("table-1", "Effect of each technique")
        .x_label("technique")
        .about(
            "Each technique is switched off and on; everything else is equal. The first six are \
             the paper's; the last three are Redpoll's own, on its own link. Zero-copy send: if \
             off, a segment is copied to message buffers as soon as TCP may send it, and the row \
             includes the most memory that these buffers used at once; if on, the segment is read \
             from the send buffer. In-place reassembly cannot be switched off: without it, \
             out-of-order data would need memory in addition to the receive buffer, so the row \
             \"off\" adds the most out-of-order data that was stored at once (1 % of frames lost).",
        );
    let mut table = Ablation(figure);
    buffers(&mut table.0);
    of_the_paper(&mut table);
    queue_management(&mut table);
    own(&mut table);
    table.0
}

/// Adds the memory that the send buffer needs without and with zero-copy send, and that the receive
/// buffer needs without and with in-place reassembly.
fn buffers(figure: &mut Figure) {
    const ZERO_COPY: &str = "zero-copy send";
    const IN_PLACE: &str = "in-place reassembly";
    const MEMORY: Metric = Metric::new("memory that a buffer needs", "B");
    /// Size of the send buffer and of the receive buffer, in bytes.
    const BUFFER: f64 = 1_848.0;
    /// Bytes of a segment's payload.
    const SEGMENT: f64 = 462.0;
    let sender = tcplp(line(3)).probe(Slots { node: 7 });
    let receiver = lossy_line().probe(SEGMENTS);
    let off = figure
        .seen(At::new(OFF, ZERO_COPY), MEMORY, &sender, |_, taken| {
            Ok(BUFFER + SEGMENT * taken.most as f64)
        })
        .handle();
    let on = figure
        .known(At::new(ON, ZERO_COPY), MEMORY, BUFFER)
        .handle();
    figure
        .ratio("send buffer, ratio with / without zero-copy send", on, off)
        .paper(0.5)
        .note(
            "by construction: without zero-copy send, the part of a window that waits to be sent \
             is stored twice",
        );
    let off = figure
        .seen(At::new(OFF, IN_PLACE), MEMORY, &receiver, |_, seen| {
            Ok(BUFFER + f64::from(seen.most_out_of_order))
        })
        .handle();
    let on = figure.known(At::new(ON, IN_PLACE), MEMORY, BUFFER).handle();
    figure
        .ratio(
            "receive buffer, ratio with / without in-place reassembly",
            on,
            off,
        )
        .paper(0.62);
}

fn leaves(run: &Run) -> Reading {
    radio_duty_cycle(run, "leaf")
}

fn of_the_paper(table: &mut Ablation) {
    let three = || line(3).set("duration", "600 s");
    let large_mss = Technique {
        name: "large MSS",
        metric: GOODPUT,
        read: goodput,
        off: tcplp(uplink().set("tcp.mss", "1 frames")),
        on: tcplp(uplink()),
    };
    table
        .gain("goodput, ratio with / without large MSS", &large_mss)
        .paper(4.5);
    let retry_delay = Technique {
        name: "link retry delay",
        metric: LOSS,
        read: segment_loss,
        off: delay(tcplp(three()), 0),
        on: delay(tcplp(three()), 40),
    };
    let [off, on] = table.both(&retry_delay);
    table.0.row(off).paper(6.0);
    table.0.row(on).paper(1.0);
    table
        .0
        .ratio(
            "segment loss, ratio with / without link retry delay",
            on,
            off,
        )
        .paper(0.17);
    let duty_cycle = Technique {
        name: "adaptive duty cycle",
        metric: LATENCY,
        read: latency,
        off: not_adaptive(),
        on: adaptive(),
    };
    table
        .gain(
            "HTTP latency, ratio with / without adaptive duty cycle",
            &duty_cycle,
        )
        .paper(0.5);
    let csma = Technique {
        name: "software CSMA",
        metric: GOODPUT_CSMA,
        read: goodput,
        off: tcplp(line(1)).set("mac.deaf_backoff", "true"),
        on: tcplp(line(1)),
    };
    table.gain("goodput, ratio with / without software CSMA", &csma);
}

/// Adds the management of the queue for sleepy nodes, and rows that explain its effect.
fn queue_management(table: &mut Ablation) {
    let send = || tcplp(lossy(readings("tcp", 64)));
    // Half of OpenThread's data request timeout of 100 ms; the paper's shortened value is unknown.
    let short_timeout = Technique {
        name: "L2 queue management, data request timeout 50 ms",
        metric: DUTY,
        read: leaves,
        off: send().with(PLAIN_QUEUE),
        on: send().set("poll.window", "50 ms"),
    };
    let short_timeout = table
        .gain(
            "radio duty cycle, ratio with / without L2 queue management, data request timeout 50 ms",
            &short_timeout,
        )
        .paper(0.67)
        .handle();
    let a_fifth = Technique {
        name: "L2 queue management, 20 % of frames lost",
        metric: DUTY,
        read: leaves,
        off: send().with(PLAIN_QUEUE).with(&[A_FIFTH]),
        on: send().with(&[A_FIFTH]),
    };
    let a_fifth = table
        .gain(
            "radio duty cycle, ratio with / without L2 queue management, 20 % of frames lost",
            &a_fifth,
        )
        .paper(0.67)
        .handle();
    let queue = Technique {
        name: "L2 queue management",
        metric: DUTY,
        read: leaves,
        off: send().with(PLAIN_QUEUE),
        on: send(),
    };
    let [off, on] = table.both(&queue);
    table.0.row(off).paper(3.0);
    table.0.row(on).paper(2.0);
    table
        .0
        .ratio(
            "TCP's radio duty cycle, ratio with / without L2 queue management",
            on,
            off,
        )
        .paper(0.67)
        .judged("queue-management")
        .cause(
            "L2 queue management saves more if more frames are lost, and the paper does not state \
             its losses; the paper's node also listens for a shorter time after a data request, \
             and the paper does not state this time",
            &[a_fifth, short_timeout],
        );
}

fn own(table: &mut Ablation) {
    let three = || line(3).set("duration", "600 s");
    let send = || lossy(readings("tcp", 64));
    let bursts = Technique {
        name: "fragments in bursts",
        metric: GOODPUT_3,
        read: goodput,
        off: three().set("lowpan.fragment_burst", "false"),
        on: three().set("lowpan.fragment_burst", "true"),
    };
    table.gain("goodput, ratio with / without fragments in bursts", &bursts);
    let one_poll = Technique {
        name: "one poll for all waiting frames",
        metric: DUTY_POLL,
        read: leaves,
        off: send().set("indirect.burst", "false"),
        on: send(),
    };
    table
        .gain(
            "radio duty cycle, ratio with / without one poll for all waiting frames",
            &one_poll,
        )
        .judged("redpoll-one-poll");
    let schedule = Technique {
        name: "a learned poll schedule",
        metric: DUTY_SCHEDULE,
        read: leaves,
        off: send().set("poll.policy", "fixed"),
        on: send(),
    };
    table
        .gain(
            "radio duty cycle, ratio with / without a learned poll schedule",
            &schedule,
        )
        .judged("redpoll-schedule");
}
