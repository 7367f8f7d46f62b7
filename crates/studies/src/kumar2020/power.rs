//! What an answer costs the radio of a sleepy server: the paper's section 8.1.3.

use super::read::{DUTY, on_time, radio_duty_cycle};
use super::scenes::{Speaks, paper, web};
use super::web::{PROTOCOLS, restless};
use crate::Criterion::{AtMost, Between};
use crate::{Case, Fact, Figure, Point, Run, Table, X};

const IDLE: &str = "no requests";
const SELDOM: &str = "every 100 s";
const OFTEN: &str = "back to back";

/// A leaf beside the border router.
const NEAR: [&str; 2] = ["HTTP, one hop", "CoAP, one hop"];

fn case(speaks: Speaks, how: &str) -> Case {
    let case = restless(paper(web(speaks, 1_024)));
    match how {
        IDLE => case.set("apps.get.when", "never"),
        OFTEN => case.set("apps.get.interval", "4 s"),
        _ => case
            .set("apps.get.interval", "100 s")
            .set("duration", "3600 s"),
    }
}

fn points() -> Vec<Point> {
    let duty = |run: &Run| radio_duty_cycle(run, "leaf-15");
    let mut points = Vec::new();
    for how in [IDLE, SELDOM, OFTEN] {
        for (name, speaks) in PROTOCOLS {
            let case = case(speaks, how);
            points.push(Point::new((name, how), DUTY, &case, duty));
            points.push(Point::new((name, how), ("radio on", "s"), &case, |run| {
                on_time(run, "leaf-15")
            }));
        }
    }
    for how in [IDLE, OFTEN] {
        for (name, (_, speaks)) in NEAR.into_iter().zip(PROTOCOLS) {
            let case = case(speaks, how).set("nodes.leaf-15.position", r#"["6 m", "12 m"]"#);
            points.push(Point::new((name, how), DUTY, &case, duty));
        }
    }
    points
}

/// What requests cost beside polls.
fn cost(name: &'static str, table: &Table<'_>) -> Option<f64> {
    let of = |how| table.get(name, how, DUTY.0);
    Some(of(OFTEN)? - of(IDLE)?)
}

fn facts() -> Vec<Fact> {
    vec![
        Fact::shape(
            "TCP / CoAP, without the idle share",
            move |table| Some(cost("HTTP", table)? / cost("CoAP", table)?),
            Between(1.0, 1.7),
        )
        .paper(1.35)
        .note(
            "over three hops the leaf repeats 6.8 frames a response with TCP and 1.7 with \
             CoAP, for segments collide with those before them; over one hop, see the next row",
        ),
        Fact::new(
            ("verdict", X::None),
            ("one hop: TCP / CoAP, without the idle share", ""),
            move |table| Some(cost(NEAR[0], table)? / cost(NEAR[1], table)?),
        )
        .paper(1.35),
        Fact::new(
            ("verdict", X::None),
            ("TCP less CoAP, every 100 s, in points", "%"),
            |table| {
                let tcp = table.get("HTTP", SELDOM, DUTY.0)?;
                Some(tcp - table.get("CoAP", SELDOM, DUTY.0)?)
            },
        )
        .paper(0.35)
        .must(AtMost(0.35)),
        Fact::new(
            ("verdict", X::None),
            ("TCP over CoAP, every 100 s", "%"),
            |table| {
                let ratio = table.ratio(DUTY.0, ("HTTP", SELDOM), ("CoAP", SELDOM))?;
                Some(100.0 * (ratio - 1.0))
            },
        )
        .paper(0.35)
        .must(AtMost(0.35))
        .note(
            "for 35 % to become 0.35 % polls have to take a hundred times what a response \
             does; here they take 3.1 s in 100 s, and CoAP's response 0.1 s",
        ),
    ]
}

/// §8.1.3.
pub fn section_8_1_3() -> Figure {
    Figure {
        name: "8.1.3",
        title: "Radio-on time of a server, 1,024 bytes",
        x_label: "requests",
        about: "A sleep interval of 100 ms. The paper: for a response of 1,024 bytes TCP keeps \
                the radio on 35 % longer than CoAP; with one request in 100 s the difference is \
                0.35 %.",
        points: points(),
        facts: facts(),
    }
}
