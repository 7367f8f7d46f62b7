//! The two caches from which the paper's cache was developed, over the paper's chain.

use super::redpoll::{BYTES, received};
use super::scenes::{
    CCTRL, EARLIER, HOPS, Mac, NULLMAC, SEGMENTS, UNMODIFIED, XMAC, aside, beside, case, least,
    line, ratio_of_means, redpoll as ours, segments, tss_quiet,
};
use redpoll_experiments::{At, Case, Figure, Metric};

const WAITED: Metric = Metric::new("packets that waited in caches for earlier packets", "");
/// Why TSS reduces throughput.
const AGAIN: &str = "a cache with TSS's rules repeats an acknowledgment if the end to which it is \
    addressed sends no segment in time; the rows \"TSS, acknowledgments not repeated\" show the throughput without these \
    repetitions";
const REACHED: Metric = Metric::new("cached segments that the next hop was heard forwarding", "");

/// Compares uIP and Redpoll's TCP without a cache and with caches by the rules of the paper, DTC
/// and TSS.
pub fn rules() -> Figure {
    let mut figure = Figure::new("rules", "DTC and TSS over the chain")
        .x_label("hops")
        .about(
            "Payload that arrives within ten minutes over NullMAC and X-MAC: without a cache, \
             with the paper's cache, and with caches by the rules of Distributed TCP Caching and \
             of TCP Support for Sensor networks. uIP has one segment in flight; Redpoll's TCP has \
             several, which TSS forwards one at a time.",
        )
        .aside();
    for mac in [NULLMAC, XMAC] {
        of_uip(&mut figure, mac);
        of_ours(&mut figure, mac);
    }
    figure
}

fn of_uip(figure: &mut Figure, mac: Mac) {
    let named = |name: &str| format!("{name}, {}", mac.name);
    let [without, paper] = [UNMODIFIED, CCTRL].map(|variant| {
        let case = |hops| case(mac, variant, hops);
        line(figure, &named(variant.name), SEGMENTS, case, segments)
    });
    let quiet = |hops| tss_quiet(case(mac, UNMODIFIED, hops));
    let series = named("TSS, acknowledgments not repeated");
    let quiet = aside(figure, &series, SEGMENTS, quiet, segments);
    for rules in EARLIER {
        let case = |hops| rules.of(case(mac, UNMODIFIED, hops));
        let with = line(figure, &named(rules.name), SEGMENTS, case, segments);
        for (what, other, id) in [
            (
                "received segments, with the cache of this row / without a cache, least ratio at \
                 2 to 6 hops",
                &without,
                "over-none",
            ),
            (
                "received segments, with the cache of this row / with cctrl, ratio of the means \
                 over 2 to 6 hops",
                &paper,
                "over-cctrl",
            ),
        ] {
            let make = match id {
                "over-none" => least,
                _ => ratio_of_means,
            };
            figure
                .made_of_all(
                    At::new(named(rules.name), "verdict"),
                    Metric::new(what, ""),
                    &beside(&with, other, &HOPS),
                    make,
                )
                .judged(format!("{}-{}-{id}", mac.word, rules.word))
                .cause(AGAIN, &beside(&with, &quiet, &[2, 3, 4]));
        }
    }
}

fn of_ours(figure: &mut Figure, mac: Mac) {
    let named = |name: &str| format!("Redpoll{name}, {}", mac.name);
    let plain = |hops| ours(mac, hops, false);
    let without = line(figure, &named(""), BYTES, plain, received);
    let paper = |hops| ours(mac, hops, true);
    line(figure, &named(" + cctrl"), BYTES, paper, received);
    for rules in EARLIER {
        let case = |hops| -> Case { rules.of(plain(hops)) };
        let name = named(&format!(" + {}", rules.name));
        let with = line(figure, &name, BYTES, case, received);
        aside(figure, &name, WAITED, case, |run| {
            run.node_sum("node", "/cache/waited")
        });
        aside(figure, &name, REACHED, case, |run| {
            run.node_sum("node", "/cache/reached")
        });
        figure
            .made_of_all(
                At::new(name, "verdict"),
                Metric::new(
                    "bytes received, with the cache of this row / without a cache, ratio of the \
                     means over 2 to 6 hops",
                    "",
                ),
                &beside(&with, &without, &HOPS),
                ratio_of_means,
            )
            .judged(format!("{}-{}-redpoll", mac.word, rules.word));
    }
}
