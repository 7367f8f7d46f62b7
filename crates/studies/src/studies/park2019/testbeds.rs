//! Figures 4, 10 and 11 (testbed-1), and 14 and 15 (testbed-2): the nodes' throughput and fairness.

use super::probes::{Minutes, Progress};
use super::read::{
    AT_BORDER, AT_NODES, DURATION, MAX_MIN, MAX_MIN_AS_DEFINED, RATE, ROOM, THROUGHPUT, TOGETHER,
    all_active, duration, faster_than_parents, jain, jain_at, jain_of_minute, lost_at_border,
    lost_at_nodes, max_min, max_min_as_defined, max_min_at, max_min_of_minute, rate,
    room_over_corridor, since_ten, throughput_of, together,
};
use super::scenes::{BYTES, FLOWS, NODES, Testbed};
use super::udp::{ARRIVED, arrived};
use crate::vocabulary::read::JAIN;
use redpoll_experiments::{At, Case, Figure, Handle, Metric, Reading, Run, X};

type Read = fn(&Run) -> Reading;

const WITHOUT: &str = "without";
const WITH: &str = "TAiM";
const FASTER: Metric = Metric::new(
    "number of nodes with at least 1.2 times their parent's throughput",
    "",
);
const ACTIVE: Metric = Metric::new("time until the first node finishes", "min");
const MEAN_JAIN: Metric = Metric::new("Jain's index, mean from minute 10 on", "");
const MEAN_MAX_MIN: Metric = Metric::new("max-min ratio, mean from minute 10 on", "");

fn by_node(figure: &mut Figure, series: &str, case: &Case) {
    for node in 1..=NODES as u32 {
        figure.point(At::new(series, node), THROUGHPUT, case, move |run| {
            throughput_of(run, node)
        });
    }
}

fn whole(
    figure: &mut Figure,
    series: &str,
    metric: Metric,
    case: &Case,
    read: fn(&Run) -> Reading,
) -> Handle {
    figure
        .point(At::new(series, X::None), metric, case, read)
        .handle()
}

pub fn figure_4() -> Figure {
    let mut figure = Figure::new("4", "Throughput on testbed-1")
        .x_label("node")
        .about("Thirty nodes of BLIP send 19,000 bytes each; nodes 1 to 12 are in the room.");
    let case = Testbed::One.tcp();
    by_node(&mut figure, WITHOUT, &case);
    let lasts = whole(&mut figure, WITHOUT, DURATION, &case, duration);
    let rate = whole(&mut figure, WITHOUT, RATE, &case, rate);
    let jain = whole(&mut figure, WITHOUT, JAIN, &case, jain);
    let max_min = whole(&mut figure, WITHOUT, MAX_MIN, &case, max_min);
    let defined = (MAX_MIN_AS_DEFINED, max_min_as_defined as fn(&Run) -> _);
    whole(&mut figure, WITHOUT, defined.0, &case, defined.1);
    let room = whole(&mut figure, WITHOUT, ROOM, &case, room_over_corridor);
    let faster = whole(&mut figure, WITHOUT, FASTER, &case, faster_than_parents);
    let shown = what_loses(&mut figure, &case);
    figure
        .of("time until the last node has finished", lasts)
        .judged("lasts")
        .cause(TIME, &shown.slow);
    figure
        .of("all bytes / time until the last node has finished", rate)
        .judged("slow")
        .cause(TIME, &shown.slow);
    figure
        .of("Jain's index", jain)
        .paper(0.947)
        .judged("unfair");
    figure
        .of("max-min ratio", max_min)
        .paper(3.6)
        .judged("spread")
        .cause(ALIKE, &shown.alike);
    figure
        .of(
            "mean throughput of nodes in the room / mean throughput of nodes in the corridor",
            room,
        )
        .paper(2.0)
        .judged("room-faster")
        .cause(ALIKE, &shown.alike);
    figure
        .of(
            "number of nodes with at least 1.2 times their parent's throughput",
            faster,
        )
        .judged("children-faster")
        .cause(ALIKE, &shown.alike);
    figure
}

const NOT_KNOWN: &str = "cause unknown: nine or ten seeds are too few to decide whether this row \
    holds; see also the rows with a queue of ten packets per node";
const TIME: &str = "cause unknown. If a quarter of all frames is lost on the air, the \
    duration, the max-min ratio and the ratio of the throughputs in the room and in the corridor \
    are nearly as in the paper, but UDP then loses packets even at low loads, unlike in the \
    paper. If 45 % of all packets are lost between border router and host, the duration is as in \
    the paper, but all nodes have nearly equal throughput";
const ALIKE: &str = "links are good, and two fifths of all losses occur in the border router's \
    mote, where they affect all nodes alike, so near and far nodes have nearly equal throughput";

/// Rows that explain the duration of the run and the equal shares of the nodes.
struct Shown {
    slow: Vec<Handle>,
    alike: Vec<Handle>,
}

/// Adds rows that show where packets are lost, and rows of runs in which packets are lost at other
/// places or for other reasons.
fn what_loses(figure: &mut Figure, case: &Case) -> Shown {
    let at_border = whole(figure, WITHOUT, AT_BORDER, case, lost_at_border);
    let at_nodes = whole(figure, WITHOUT, AT_NODES, case, lost_at_nodes);
    let wire = case.clone().set("faults.wire.type", "drop-packets");
    let wire = wire.set("faults.wire.share", "45 %").set("duration", "4 h");
    let wire = beside(
        figure,
        "loss of 45 % of all packets between border router and host",
        &wire,
        together,
    );
    let air = worn(case.clone()).set("duration", "4 h");
    let worn_out = beside(figure, A_QUARTER, &air, together);
    let worn_room = whole(figure, A_QUARTER, ROOM, &air, room_over_corridor);
    let datagrams = worn(Testbed::One.udp(0.4));
    let datagrams = whole(
        figure,
        "UDP at 0.4 packets per second and node, loss of a quarter of all frames on the air",
        ARRIVED,
        &datagrams,
        arrived,
    );
    let links = case.clone().set("mac.max_frame_retries", 0);
    let one = beside(figure, ONE_ATTEMPT, &links, together);
    let room = whole(figure, ONE_ATTEMPT, ROOM, &links, room_over_corridor);
    let faster = whole(figure, ONE_ATTEMPT, FASTER, &links, faster_than_parents);
    let ten = ten_packets(case);
    let ten = beside(figure, "queue of ten packets per node", &ten, together);
    Shown {
        slow: vec![
            worn_out[3],
            worn_out[0],
            worn_out[1],
            datagrams,
            wire[3],
            wire[0],
            one[3],
            ten[3],
        ],
        alike: vec![at_border, at_nodes, worn_out[1], worn_room, room, faster],
    }
}

const ONE_ATTEMPT: &str = "one attempt per frame";
const A_QUARTER: &str = "loss of a quarter of all frames on the air";

/// Loses a quarter of all frames and acknowledgments on the air of `case`.
fn worn(case: Case) -> Case {
    let case = case.set("faults.air.type", "drop-frames");
    case.set("faults.air.share", "25 %")
}

/// Gives each node of a case a queue of ten packets, as in Kim et al. 2015.
fn ten_packets(case: &Case) -> Case {
    case.clone().set("lowpan.slots", 10)
}

/// Adds the effect of TAiM on a testbed: the rows of figures 10 and 14, and the paper's Jain's
/// indices and max-min ratios without and with TAiM. Returns the rows of Jain's index and of the
/// max-min ratio without TAiM.
fn compared(
    figure: &mut Figure,
    testbed: Testbed,
    shown: &[Handle],
    paper: [[f64; 2]; 2],
) -> [Handle; 2] {
    let cases = [testbed.tcp(), testbed.taim()];
    by_node(figure, WITH, &cases[1]);
    let mut both = |metric, read: fn(&Run) -> Reading| {
        let [without, with] = &cases;
        [
            whole(figure, WITHOUT, metric, without, read),
            whole(figure, WITH, metric, with, read),
        ]
    };
    let [jain_without, jain_with] = both(JAIN, jain);
    let max_min = both(MAX_MIN, max_min);
    let sums = both(TOGETHER, together);
    let rooms = both(ROOM, room_over_corridor);
    both(DURATION, duration);
    both(RATE, rate);
    let [jains, spreads] = paper;
    figure
        .of("Jain's index, with TAiM", jain_with)
        .paper(jains[1])
        .judged("fair")
        .cause(WAITS, shown);
    figure
        .difference(
            "Jain's index, with TAiM minus without TAiM",
            jain_with,
            jain_without,
        )
        .paper(jains[1] - jains[0])
        .judged("fairer");
    figure
        .ratio(
            "max-min ratio, quotient with TAiM / without TAiM",
            max_min[1],
            max_min[0],
        )
        .paper(spreads[1] / spreads[0])
        .judged("spread")
        .cause(WAITS, shown);
    figure
        .of("max-min ratio, with TAiM", max_min[1])
        .paper(spreads[1]);
    figure
        .ratio(
            "throughput of all nodes, ratio with / without TAiM",
            sums[1],
            sums[0],
        )
        .judged("together")
        .cause(WAITS, shown);
    if testbed == Testbed::One {
        figure
            .of(
                "with TAiM: mean throughput of nodes in the room / mean throughput of nodes in \
                 the corridor",
                rooms[1],
            )
            .paper(1.1)
            .judged("room-alike");
    }
    [jain_without, max_min[0]]
}

pub fn figure_10() -> Figure {
    let mut figure = Figure::new("10", "Throughput on testbed-1 with TAiM")
        .x_label("node")
        .about(
            "As figure 4, with TAiM at the border router. D_init, the initial value of TAiM's delay between \
             two packets, is calibrated on the study row 10/together.",
        );
    let shown = at_most_a_second(&mut figure, Testbed::One);
    let paper = [[0.947, 0.994], [3.6, 1.7]];
    compared(&mut figure, Testbed::One, &shown, paper);
    for (d_init, series) in D_INITS {
        let case = Testbed::One.taim().set("taim.initial_delay", d_init);
        beside(&mut figure, series, &case, together);
    }
    let [without, with] = [Testbed::One.tcp(), Testbed::One.taim()];
    for (series, case) in [
        ("without TAiM, four times the bytes per node", &without),
        ("TAiM, four times the bytes per node", &with),
    ] {
        let case = longer(case.clone());
        beside(&mut figure, series, &case, together_when_longer);
    }
    for (series, case) in [
        (
            "TAiM, loss of a quarter of all frames on the air",
            with.clone(),
        ),
        (
            "TAiM, D_init 60 ms, loss of a quarter of all frames on the air",
            with.clone().set("taim.initial_delay", "60 ms"),
        ),
    ] {
        let case = worn(case).set("duration", "4 h");
        beside(&mut figure, series, &case, together);
    }
    for (series, case) in [
        ("without TAiM, queue of ten packets per node", without),
        ("TAiM, queue of ten packets per node", with.clone()),
        (
            "TAiM, D_init 36 ms, queue of ten packets per node",
            with.set("taim.initial_delay", "36 ms"),
        ),
    ] {
        beside(&mut figure, series, &ten_packets(&case), together);
    }
    figure
}

const WAITS: &str = "the paper's rule does not limit the wait of the flow with the highest \
    throughput: packets that wait for longer than BLIP's RTO of three seconds are retransmitted. If no \
    packet waits for more than a second, shares are more equal at the cost of throughput, but \
    never as equal as the paper's";

/// The candidates for D_init, and one value with which shares are as equal as in the paper.
const D_INITS: [(&str, &str); 5] = [
    ("12 ms", "TAiM, D_init 12 ms"),
    ("20 ms", "TAiM, D_init 20 ms"),
    ("30 ms", "TAiM, D_init 30 ms"),
    (FAIR_ENOUGH.0, FAIR_ENOUGH.1),
    ("50 ms", "TAiM, D_init 50 ms"),
];
const FAIR_ENOUGH: (&str, &str) = ("34 ms", "TAiM, D_init 34 ms");

/// Adds rows that explain the judged rows.
fn beside(
    figure: &mut Figure,
    series: &str,
    case: &Case,
    together: fn(&Run) -> Reading,
) -> [Handle; 4] {
    let metrics: [(Metric, Read); 4] = [
        (JAIN, jain),
        (MAX_MIN, max_min),
        (TOGETHER, together),
        (DURATION, duration),
    ];
    metrics.map(|(metric, read)| {
        let row = figure.point(At::new(series, X::None), metric, case, read);
        row.aside().handle()
    })
}

/// Adds TAiM with waits of at most 1 s, the default limit of `redpoll taim`. The paper has no such
/// limit: its delay is short enough for every waiting packet to leave before its sender retransmits
/// it. Returns the rows of Jain's index, of the max-min ratio and of the throughput of all nodes
/// together. Also adds these rows with a queue of ten packets per node.
fn at_most_a_second(figure: &mut Figure, testbed: Testbed) -> Vec<Handle> {
    let mut shown = Vec::new();
    for d_init in ["30 ms", "40 ms", "50 ms"] {
        let case = testbed.taim().set("taim.initial_delay", d_init);
        let case = case.set("taim.max_wait", "1 s");
        let series = format!("TAiM, D_init {d_init}, packets wait 1 s at most");
        shown.extend(&beside(figure, &series, &case, together)[..3]);
        let series = format!("{series}, queue of ten packets per node");
        beside(figure, &series, &ten_packets(&case), together);
    }
    shown
}

/// Multiplies the bytes of a case by four, so that a run takes as long as in the paper.
fn longer(case: Case) -> Case {
    case.set("apps.upload.total", format!("{} B", 4.0 * BYTES))
        .set("duration", "6 h")
}

fn together_when_longer(run: &Run) -> Reading {
    Ok(4.0 * together(run)?)
}

pub fn figure_14() -> Figure {
    let mut figure = Figure::new("14", "Throughput on testbed-2")
        .x_label("node")
        .about("Thirty nodes of BLIP in a lattice at -25 dBm, without TAiM and with it.");
    let case = Testbed::Two.tcp();
    by_node(&mut figure, WITHOUT, &case);
    let shown = at_most_a_second(&mut figure, Testbed::Two);
    let paper = [[0.989, 0.997], [1.7, 1.3]];
    let [jain, max_min] = compared(&mut figure, Testbed::Two, &shown, paper);
    let series = "without TAiM, queue of ten packets per node";
    let ten = beside(&mut figure, series, &ten_packets(&case), together);
    let case = Testbed::Two.taim();
    let case = case.set("taim.initial_delay", FAIR_ENOUGH.0);
    beside(&mut figure, FAIR_ENOUGH.1, &case, together);
    figure
        .of("Jain's index, without TAiM", jain)
        .paper(0.989)
        .judged("rather-fair")
        .cause(NOT_KNOWN, &ten[..2]);
    figure
        .of("max-min ratio, without TAiM", max_min)
        .paper(1.7)
        .judged("small-spread")
        .cause(NOT_KNOWN, &ten[..2]);
    figure
}

const JAIN_OF_MINUTE: Metric = Metric::new("Jain's index of each minute", "");
const MAX_MIN_OF_MINUTE: Metric = Metric::new("max-min ratio of each minute", "");

fn by_minute(name: &'static str, title: &'static str, testbed: Testbed) -> Figure {
    let mut figure = Figure::new(name, title)
        .x_label("minutes since the flows started")
        .about(
            "Jain's index and max-min ratio of the nodes' mean throughputs since the beginning, \
             while all nodes are active. The paper uses the throughput of each minute, in which a \
             simulated node sends twenty segments; the rows \"of each minute\" use this throughput \
             too.",
        );
    let probe = Minutes { flows: FLOWS };
    let minutes = [2_u32, 4, 6, 8, 10, 12, 14, 16, 18, 20, 25, 30, 40, 50, 60];
    let series = [(WITHOUT, testbed.tcp()), (WITH, testbed.taim())];
    let [without, with] = series.map(|(series, case)| {
        let case = case.probe(probe);
        let jain = |_: &Run, found: &Progress, minute| jain_at(found, minute);
        figure.seen_line(series, JAIN, &case, minutes, jain);
        let max_min = |_: &Run, found: &Progress, minute| max_min_at(found, minute);
        figure.seen_line(series, MAX_MIN, &case, minutes, max_min);
        // For comparison, the fairness of each minute alone. The paper's values are by minute, but
        // smoothed by TAiM.
        let jain = |_: &Run, found: &Progress, minute| jain_of_minute(found, minute);
        figure.seen_line(series, JAIN_OF_MINUTE, &case, minutes, jain);
        let max_min = |_: &Run, found: &Progress, minute| max_min_of_minute(found, minute);
        figure.seen_line(series, MAX_MIN_OF_MINUTE, &case, minutes, max_min);
        let at = At::new(series, X::None);
        let active = figure.seen(at.clone(), ACTIVE, &case, |_, found| all_active(found));
        let active = active.handle();
        let jain = figure.seen(at.clone(), MEAN_JAIN, &case, |_, found| {
            since_ten(found, jain_at)
        });
        let jain = jain.handle();
        let max_min = figure.seen(at, MEAN_MAX_MIN, &case, |_, found| {
            since_ten(found, max_min_at)
        });
        [active, jain, max_min.handle()]
    });
    figure
        .difference(
            "Jain's index, with TAiM minus without TAiM",
            with[1],
            without[1],
        )
        .judged("fairer");
    figure
        .ratio(
            "max-min ratio, quotient with TAiM / without TAiM",
            with[2],
            without[2],
        )
        .judged("less-spread");
    figure
        .difference(
            "minute in which the first node finishes, with TAiM minus without TAiM",
            with[0],
            without[0],
        )
        .judged("first-is-done-later");
    figure
}

pub fn figure_11() -> Figure {
    by_minute("11", "Fairness over time, testbed-1", Testbed::One)
}

pub fn figure_15() -> Figure {
    by_minute("15", "Fairness over time, testbed-2", Testbed::Two)
}
