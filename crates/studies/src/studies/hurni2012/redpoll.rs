//! Redpoll's TCP over the paper's chain.

use super::scenes::{
    ALL, LPP, MACS, aside, beside, bytes, case, greatest, least, line, radio_on, redpoll as ours,
    redpoll_by_default,
};
use redpoll_experiments::{At, Case, Figure, Gap, Metric, Reading, Run};

pub(super) const BYTES: Metric = Metric::new("received", "kB");
const RADIO: Metric = Metric::new("radio on", "ms per byte");

pub(super) fn received(run: &Run) -> Reading {
    Ok(bytes(run)? / 1_000.0)
}

fn radio_on_a_byte(run: &Run) -> Reading {
    let bytes = bytes(run)?;
    if bytes > 0.0 {
        Ok(1_000.0 * radio_on(run)? / bytes)
    } else {
        Err(Gap::Nothing)
    }
}

/// Compares Redpoll's TCP without and with the cache, and uIP with all techniques.
pub fn figure() -> Figure {
    let mut figure = Figure::new("redpoll", "Redpoll's TCP over the chain")
        .x_label("hops")
        .about(
            "Payload that arrives within ten minutes over each of Contiki 2.5's MACs: uIP with all \
             techniques, and Redpoll's TCP (series `Redpoll`) without and with the cache. Redpoll's \
             TCP has its default settings, except that its segments have one frame over NullMAC \
             and X-MAC, which never retransmit a frame, and 48 bytes over ContikiMAC, where \
             senders of long frames discard the learned wake-up times of their neighbours. Radio \
             time is the sum over the sender, the receiver and the routers between them.",
        )
        .aside();
    let hops = [2, 3, 4, 5, 6];
    for mac in MACS {
        let named = |name: &str| format!("{name}, {}", mac.name);
        let mut lines = |metric, read: fn(&Run) -> Reading| {
            let mut of = |name: &str, case: &dyn Fn(u32) -> Case| {
                line(&mut figure, &named(name), metric, case, read)
            };
            [
                of("Redpoll", &|hops| ours(mac, hops, false)),
                of("Redpoll + cctrl", &|hops| ours(mac, hops, true)),
                of("uIP", &|hops| case(mac, ALL, hops)),
            ]
        };
        let [own, cached, uip] = lines(BYTES, received);
        let [own_radio, _, uip_radio] = lines(RADIO, radio_on_a_byte);
        if mac != LPP {
            aside(
                &mut figure,
                &named("Redpoll, segments of five frames"),
                BYTES,
                |hops| redpoll_by_default(mac, hops, false),
                received,
            );
        }
        let mut judge = |what, of: &[_], make: fn(&[f64]) -> f64, id: &str| {
            figure
                .made_of_all(
                    At::new(named("verdict"), mac.name),
                    Metric::new(what, ""),
                    of,
                    make,
                )
                .judged(format!("{}-{id}", mac.word));
        };
        judge(
            "bytes received, Redpoll / uIP with all techniques, least ratio at 2 to 6 hops",
            &beside(&own, &uip, &hops),
            least,
            "over-uip",
        );
        judge(
            "radio-on time per received byte, Redpoll / uIP with all techniques, greatest ratio \
             at 2 to 6 hops",
            &beside(&own_radio, &uip_radio, &hops),
            greatest,
            "radio",
        );
        judge(
            "bytes received by Redpoll's TCP, with / without the cache, least ratio at 2 to 6 hops",
            &beside(&cached, &own, &hops),
            least,
            "cache",
        );
    }
    figure
}
