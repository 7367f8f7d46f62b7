//! Figure 7: radio-on time per segment, by hops.

use super::scenes::{
    ACTIVITY, CCTRL, CONTIKIMAC, COPIES, HOPS, LPP, Mac, NULLMAC, ON, RADIO, UNMODIFIED, XMAC,
    aside, beside, case, copies, line, on, radio_on_a_segment, ratio_of_means, ratios,
};
use super::throughput::IDLE_CACHE;
use redpoll_experiments::{Figure, Line};

pub fn figure_7(mac: Mac) -> Figure {
    let (name, title) = match mac.letter {
        "a" => ("7a", "Radio-on time per segment, NullMAC"),
        "b" => ("7b", "Radio-on time per segment, X-MAC"),
        "c" => ("7c", "Radio-on time per segment, ContikiMAC"),
        _ => ("7d", "Radio-on time per segment, LPP"),
    };
    let mut figure = Figure::new(name, title).x_label("hops").about(
        "The runs of figure 6: radio-on time of the sender, the receiver and the routers between \
         them, summed, per segment that arrived. A row \"x / y\" is the ratio of the means over 2 \
         to 6 hops.",
    );
    let mut of = |series: &str, mac, variant| -> Line {
        let case = |hops| case(mac, variant, hops);
        line(&mut figure, series, RADIO, case, radio_on_a_segment)
    };
    let [unmodified, cctrl, activity] =
        [UNMODIFIED, CCTRL, ACTIVITY].map(|variant| of(variant.name, mac, variant));
    let others = (mac == NULLMAC).then(|| {
        [
            of("X-MAC, cctrl", XMAC, CCTRL),
            of("LPP, cctrl", LPP, CCTRL),
        ]
    });
    if mac == CONTIKIMAC {
        let case = |hops| case(mac, CCTRL, hops);
        let sent = aside(&mut figure, "cctrl", COPIES, case, copies);
        figure
            .verdict_of_all(
                "radio-on time per segment, ratio of \"cctrl\" / \"unmodified\"",
                &beside(&cctrl, &unmodified, &HOPS),
                ratio_of_means,
            )
            .judged("cctrl-worse")
            .cause(IDLE_CACHE, &[sent.at(2), sent.at(4), sent.at(6)]);
    } else if mac != LPP {
        figure
            .verdict_of_all(
                "radio-on time per segment, ratio of \"cctrl\" / \"unmodified\"",
                &beside(&cctrl, &unmodified, &HOPS),
                ratio_of_means,
            )
            .judged("cctrl-better");
    }
    figure
        .verdict_of_all(
            "radio-on time per segment, ratio of \"cctrl + activity\" / \"cctrl\"",
            &beside(&activity, &cctrl, &HOPS),
            ratio_of_means,
        )
        .judged("activity-same");
    if mac != NULLMAC {
        figure
            .ratio(
                "unmodified uIP: radio-on time per segment, ratio 6 hops / 2 hops",
                unmodified.at(6),
                unmodified.at(2),
            )
            .judged("rises");
    }
    if let Some([x, lpp]) = others {
        against(&mut figure, &cctrl, &x, XMAC);
        against(&mut figure, &cctrl, &lpp, LPP);
    }
    figure
}

/// Counts the numbers of hops over which NullMAC needs less radio time than another MAC, both with
/// the cache.
fn against(figure: &mut Figure, cctrl: &Line, other: &Line, mac: Mac) {
    let (series, what, id) = match mac {
        XMAC => (
            "X-MAC, cctrl",
            "number of chain lengths at which X-MAC needs more radio-on time per segment than \
             NullMAC, both with cctrl",
            "less-than-xmac",
        ),
        _ => (
            "LPP, cctrl",
            "number of chain lengths at which LPP needs more radio-on time per segment than \
             NullMAC, both with cctrl",
            "less-than-lpp",
        ),
    };
    let case = |hops| case(mac, CCTRL, hops);
    let share = aside(figure, series, ON, case, on);
    figure
        .verdict_of_all(what, &beside(cctrl, other, &HOPS), |all| {
            ratios(all).filter(|ratio| *ratio < 1.0).count() as f64
        })
        .judged(id)
        .cause(AWAKE, &[share.at(2), share.at(4), share.at(6)]);
}

/// Why NullMAC does not need the least radio time.
pub(super) const AWAKE: &str = "with NullMAC the radios are always on, and with the other MACs for \
    a small part of the time; if that part were a tenth, NullMAC would have to carry ten times as \
    many segments for the same radio time per segment, but it carries only two to three times as \
    many, as in the paper";
