//! HTTP and CoAP servers on a sleepy leaf (the paper's §8.1.1 and §8.1.2).

use super::scenes::{Speaks, web};
use crate::vocabulary::profiles::tcplp;
use crate::vocabulary::read::{GOODPUT, LATENCY, latency};
use redpoll_experiments::{Case, Figure, Line, Metric, Reading, Run};

const LEAST: Metric = Metric::new("least latency", "ms");
const LOWER: Metric = Metric::new("latency, lower quartile", "ms");
const UPPER: Metric = Metric::new("latency, upper quartile", "ms");
const P95: Metric = Metric::new("latency, 95th percentile", "ms");
const ANSWERED: Metric = Metric::new("answered", "%");

fn p95(run: &Run) -> Reading {
    run.flow("get", "/requests/latency_ms/p95")
}

fn least(run: &Run) -> Reading {
    run.flow("get", "/requests/latency_ms/min")
}

fn lower(run: &Run) -> Reading {
    run.flow("get", "/requests/latency_ms/p25")
}

fn upper(run: &Run) -> Reading {
    run.flow("get", "/requests/latency_ms/p75")
}

/// Reads [`ANSWERED`]: answered requests, divided by answered and failed requests.
fn answered(run: &Run) -> Reading {
    let of = |what: &str| run.flow("get", &format!("/requests/{what}"));
    let (answered, failed) = (of("answered")?, of("failed")?);
    Ok(100.0 * answered / (answered + failed))
}

pub const PROTOCOLS: [(&str, Speaks); 2] = [("HTTP", Speaks::Http), ("CoAP", Speaks::Coap)];

/// Names of the leaf's sleep policies.
const ALWAYS_ON: &str = "always on";
const ONE_SECOND: &str = "1 s";
const ADAPTIVE: &str = "1 s, adaptive";

fn sleep(case: Case, how: &str) -> Case {
    let case = case
        .set("poll.base_interval", "1 s")
        .set("duration", "900 s");
    match how {
        ALWAYS_ON => case.set("nodes.leaf-15.sleepy", "false"),
        ONE_SECOND => case.set("poll.policy", "base"),
        _ => case,
    }
}

/// Sets the paper's link in `case`. Removes `poll.interval` if the sleep policy `how` is `base`,
/// which does not use it.
fn link(case: Case, how: &str) -> Case {
    let case = tcplp(case);
    match how {
        ONE_SECOND => case.without("poll.interval"),
        _ => case,
    }
}

/// Returns HTTP with a leaf that sleeps for a second even while TCP expects a segment.
pub fn not_adaptive() -> Case {
    sleep(link(web(Speaks::Http, 82), ONE_SECOND), ONE_SECOND)
}

/// Returns HTTP with a leaf that polls every 100 ms while TCP expects a segment.
pub fn adaptive() -> Case {
    sleep(link(web(Speaks::Http, 82), ADAPTIVE), ADAPTIVE)
}

/// Round-trip time between border router and server.
const HOST_RTT_MS: f64 = 12.0;

pub fn figure_7() -> Figure {
    let mut figure = Figure::new("7", "Latency of a request for 82 bytes")
        .x_label("how the server sleeps")
        .about(
            "A client behind the border router, with a round-trip time of 12 ms between them, and \
             a leaf three hops from the border router; medians. In the paper, HTTP takes well \
             below a second if the leaf is always on. With a sleep of 1 s, HTTP waits for one \
             sleep interval more than CoAP. If the leaf polls every 100 ms after a SYN has \
             arrived, the latencies of HTTP and CoAP differ little.",
        );
    let hows = [ALWAYS_ON, ONE_SECOND, ADAPTIVE];
    let [(http, http_least), (coap, coap_least)] = PROTOCOLS.map(|(name, speaks)| {
        let cases = || hows.map(|how| (how, sleep(link(web(speaks, 82), how), how)));
        figure.line(name, P95, cases(), p95);
        let least = figure.line(name, LEAST, cases(), least);
        (figure.line(name, LATENCY, cases(), latency), least)
    });
    let [own_http, own_coap] = PROTOCOLS.map(|(name, speaks)| {
        let cases = hows.map(|how| (how, sleep(web(speaks, 82), how)));
        figure.line(&format!("{name}, Redpoll"), LATENCY, cases, latency)
    });
    figure.of("latency, HTTP, always on, in ms", http.at(ALWAYS_ON));
    figure
        .verdict("RTT in the mesh, ms", [coap.at(ALWAYS_ON)], |[exchange]| {
            exchange - HOST_RTT_MS
        })
        .paper(200.0)
        .note("the latency of CoAP minus the 12 ms between border router and client")
        .judged("mesh-rtt");
    figure
        .ratio(
            "least latency, ratio HTTP / CoAP, sleep of 1 s",
            http_least.at(ONE_SECOND),
            coap_least.at(ONE_SECOND),
        )
        .judged("one-second-least");
    figure.ratio(
        "latency, ratio HTTP / CoAP, always on",
        http.at(ALWAYS_ON),
        coap.at(ALWAYS_ON),
    );
    figure
        .ratio(
            "latency, ratio HTTP / CoAP, sleep of 1 s",
            http.at(ONE_SECOND),
            coap.at(ONE_SECOND),
        )
        .judged("one-second");
    figure
        .ratio(
            "latency, ratio HTTP / CoAP, sleep of 1 s, adaptive",
            http.at(ADAPTIVE),
            coap.at(ADAPTIVE),
        )
        .judged("adaptive");
    figure
        .ratio(
            "latency of HTTP, sleep of 1 s, ratio adaptive / not adaptive",
            http.at(ADAPTIVE),
            http.at(ONE_SECOND),
        )
        .paper(0.5)
        .judged("adaptive-over-not");
    figure
        .ratio(
            "Redpoll's node: latency, ratio HTTP / CoAP, sleep of 1 s, adaptive",
            own_http.at(ADAPTIVE),
            own_coap.at(ADAPTIVE),
        )
        .judged("redpoll-adaptive");
    figure
        .ratio(
            "Redpoll's node: latency of HTTP, sleep of 1 s, ratio adaptive / not adaptive",
            own_http.at(ADAPTIVE),
            own_http.at(ONE_SECOND),
        )
        .judged("redpoll-adaptive-over-not");
    figure
}

/// Makes a leaf poll every 100 ms at all times.
pub fn restless(case: Case) -> Case {
    case.set("poll.base_interval", "100 ms")
        .set("duration", "900 s")
}

const SIZES: [u32; 6] = [82, 512, 1_024, 2_048, 4_096, 8_192];

pub fn figure_8a() -> Figure {
    let mut figure = Figure::new("8a", "Latency against the size of the response")
        .x_label("bytes")
        .about(
            "A sleep interval of 100 ms, 3-frame segments, blocks of 256 bytes; medians and \
             quartiles. In the paper HTTP has a larger fixed cost than CoAP, and its latency grows \
             less with the size of the response.",
        );
    let [http, coap] = PROTOCOLS.map(|(name, speaks)| {
        let cases = || SIZES.map(|bytes| (bytes, restless(tcplp(web(speaks, bytes)))));
        figure.line(name, ANSWERED, cases(), answered);
        let quartiles = [
            figure.line(name, LOWER, cases(), lower),
            figure.line(name, UPPER, cases(), upper),
        ];
        let line = figure.line(name, LATENCY, cases(), latency);
        figure.error_bars(&line, [&quartiles[0], &quartiles[1]]);
        let own = SIZES.map(|bytes| (bytes, restless(web(speaks, bytes))));
        figure.line(&format!("{name}, Redpoll"), LATENCY, own, latency);
        line
    });
    figure.ratio(
        "latency, ratio HTTP / CoAP, 82 bytes",
        http.at(82),
        coap.at(82),
    );
    let ends = |line: &Line| [line.at(8_192), line.at(1_024)];
    let ([far, near], [far_coap, near_coap]) = (ends(&http), ends(&coap));
    figure
        .verdict(
            "slope of latency over size, ratio HTTP / CoAP",
            [far, near, far_coap, near_coap],
            |[far, near, far_coap, near_coap]| (far - near) / (far_coap - near_coap),
        )
        .judged("slope");
    figure
}

pub fn figure_8b() -> Figure {
    let mut figure = Figure::new("8b", "Transfer of 50 KiB from a leaf")
        .x_label("protocol")
        .about(
            "Three hops, a sleep interval of 100 ms, 3-frame segments, CoAP in blocks of 256 \
             bytes, which also take three frames. The paper reports that TCP is 40 % faster \
             than CoAP, and does not state the size of CoAP's blocks.",
        );
    let rate = |run: &Run| Ok(50.0 * 1_024.0 * 8.0 / latency(run)?);
    let long = |case: Case| {
        restless(case)
            .set("apps.get.interval", "120 s")
            .set("duration", "3600 s")
    };
    let whole = |speaks| web(speaks, 50 * 1_024);
    let cases = PROTOCOLS.map(|(name, speaks)| (name, long(tcplp(whole(speaks)))));
    let testbed = figure.line("testbed", GOODPUT, cases, rate);
    let cases = PROTOCOLS.map(|(name, speaks)| (name, long(whole(speaks))));
    let redpoll = figure.line("Redpoll", GOODPUT, cases, rate);
    let five = PROTOCOLS.map(|(name, speaks)| {
        let case = whole(speaks)
            .set("tcp.mss", "5 frames")
            .set("apps.coap.block", "512 B");
        (name, long(tcplp(case)))
    });
    let five = figure.line(
        "segments of five frames, blocks of 512 bytes",
        GOODPUT,
        five,
        rate,
    );
    let five = figure
        .ratio(
            "segments of five frames, blocks of 512 bytes: goodput, ratio TCP / CoAP",
            five.at("HTTP"),
            five.at("CoAP"),
        )
        .handle();
    figure
        .ratio(
            "goodput, ratio TCP / CoAP",
            testbed.at("HTTP"),
            testbed.at("CoAP"),
        )
        .paper(1.4)
        .judged("tcp-over-coap")
        .cause(
            "the paper does not state the size of its blocks: with blocks of 512 bytes and \
             segments of five frames the result is the paper's",
            &[five],
        );
    figure
        .ratio(
            "Redpoll's node: goodput, ratio TCP / CoAP",
            redpoll.at("HTTP"),
            redpoll.at("CoAP"),
        )
        .judged("redpoll-tcp-over-coap")
        .cause(
            "CoAP on Redpoll's node is twice as fast as on the paper's node: packets take no time \
             of an operating system, and one poll delivers all frames of a block",
            &[redpoll.at("CoAP"), testbed.at("CoAP")],
        );
    figure
}
