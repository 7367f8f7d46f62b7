//! Radio cost of a response of a sleepy server (the paper's §8.1.3).

use super::scenes::{Speaks, web};
use super::web::{PROTOCOLS, restless};
use crate::vocabulary::profiles::tcplp;
use crate::vocabulary::read::{DUTY, on_time, radio_duty_cycle};
use redpoll_experiments::{Case, Figure, Line, Metric, Run};

const ON: Metric = Metric::new("radio on", "s");

const IDLE: &str = "no requests";
const SELDOM: &str = "one every 100 s";
const RARELY: &str = "one every 1,000 s";
const OFTEN: &str = "without pause";

/// Series of a leaf that is a neighbour of the border router.
const NEAR: [&str; 2] = ["HTTP, one hop", "CoAP, one hop"];

fn case(speaks: Speaks, how: &str) -> Case {
    let case = restless(tcplp(web(speaks, 1_024)));
    match how {
        IDLE => case.set("apps.get.when", "never"),
        OFTEN => case.set("apps.get.interval", "4 s"),
        RARELY => case
            .set("apps.get.interval", "1000 s")
            .set("duration", "10000 s"),
        _ => case
            .set("apps.get.interval", "100 s")
            .set("duration", "3600 s"),
    }
}

fn near(speaks: Speaks, how: &str) -> Case {
    case(speaks, how).set("nodes.leaf-15.position", r#"["6 m", "12 m"]"#)
}

pub fn section_8_1_3() -> Figure {
    let mut figure = Figure::new(
        "8.1.3",
        "Radio-on time of a server with responses of 1,024 bytes",
    )
    .x_label("requests")
    .about(
        "A sleep interval of 100 ms. In the paper TCP keeps the radio on 35 % longer than \
         CoAP for a response of 1,024 bytes; with one request in 100 s \"this difference drops \
         to only 0.35%\". The 0.35% can be relative to CoAP or in percentage points of the duty \
         cycle, so there is a row for each reading.",
    );
    let duty = |run: &Run| radio_duty_cycle(run, "leaf-15");
    let [http, coap] = PROTOCOLS.map(|(name, speaks)| {
        let cases = || [IDLE, RARELY, SELDOM, OFTEN].map(|how| (how, case(speaks, how)));
        figure.line(name, ON, cases(), |run| on_time(run, "leaf-15"));
        figure.line(name, DUTY, cases(), duty)
    });
    let [near_http, near_coap] = [0, 1].map(|index| {
        let (_, speaks) = PROTOCOLS[index];
        let cases = [IDLE, OFTEN].map(|how| (how, near(speaks, how)));
        figure.line(NEAR[index], DUTY, cases, duty)
    });

    // Cost of requests in addition to polls.
    let cost =
        |[http, idle_http, coap, idle_coap]: [f64; 4]| (http - idle_http) / (coap - idle_coap);
    let one_hop = figure
        .verdict(
            "one hop: radio time in excess of that without requests, ratio TCP / CoAP",
            [
                near_http.at(OFTEN),
                near_http.at(IDLE),
                near_coap.at(OFTEN),
                near_coap.at(IDLE),
            ],
            cost,
        )
        .paper(1.35)
        .handle();
    figure
        .verdict(
            "radio time in excess of that without requests, ratio TCP / CoAP",
            [http.at(OFTEN), http.at(IDLE), coap.at(OFTEN), coap.at(IDLE)],
            cost,
        )
        .paper(1.35)
        .judged("response")
        .cause(
            "over three hops the leaf retransmits 6.8 frames per response with TCP and 1.7 with CoAP, \
             because segments collide with one another",
            &[one_hop],
        );
    seldom(&mut figure, &http, &coap);
    figure
}

/// Adds the differences between TCP and CoAP for one request every 100 s, and for one every 1,000
/// s.
fn seldom(figure: &mut Figure, http: &Line, coap: &Line) {
    let over = |[http, coap]: [f64; 2]| 100.0 * (http / coap - 1.0);
    figure
        .difference(
            "TCP minus CoAP, one request per 100 s, in percentage points of the duty cycle",
            http.at(SELDOM),
            coap.at(SELDOM),
        )
        .paper(0.35);
    let rarely = figure
        .verdict(
            "excess of TCP's duty cycle over CoAP's, one request per 1,000 s, in % of CoAP's",
            [http.at(RARELY), coap.at(RARELY)],
            over,
        )
        .handle();
    figure
        .verdict(
            "excess of TCP's duty cycle over CoAP's, one request per 100 s, in % of CoAP's",
            [http.at(SELDOM), coap.at(SELDOM)],
            over,
        )
        .paper(0.35)
        .judged("seldom")
        .cause(
            "TCP's excess over CoAP is 35 % for a response alone; for 0.35 %, all polls between \
             two requests must together keep the radio on a hundred times as long as one \
             response; the rows without requests show how long the simulation's polls keep the \
             radio on, and with one request in 1,000 s the excess is about the paper's 0.35 %",
            &[
                http.at(IDLE),
                coap.at(IDLE),
                http.at(SELDOM),
                coap.at(SELDOM),
                rarely,
            ],
        );
}
