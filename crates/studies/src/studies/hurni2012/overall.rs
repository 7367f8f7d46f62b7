//! Figures 9 and 10: means over all numbers of hops.

use super::energy::AWAKE;
use super::scenes::{
    ACTIVITY, ALL, CCTRL, CCTRL_DUAL, CONTIKIMAC, COPIES, DUAL, HOPS, LPP, MACS, Mac, NULLMAC, ON,
    RADIO, SEGMENTS, UNMODIFIED, VARIANTS, Variant, XMAC, case, copies, on, over_better_links,
    radio_on_a_segment, segments, without_retries,
};
use super::throughput::{IDLE_CACHE, LINKS, RETRIES, STALE};
use redpoll_experiments::{At, Case, Figure, Handle, Metric, Reading, Run};

pub struct Means(Vec<(Mac, Variant, Handle)>);

impl Means {
    pub fn new(
        figure: &mut Figure,
        case: fn(Mac, Variant, u32) -> Case,
        metric: Metric,
        read: fn(&Run) -> Reading,
    ) -> Means {
        let mut means = Vec::new();
        for mac in MACS {
            for variant in VARIANTS {
                let series = |hops| format!("{}, {}, {hops} hops", variant.name, mac.name);
                let of: Vec<Handle> = HOPS
                    .into_iter()
                    .map(|hops| {
                        let case = case(mac, variant, hops);
                        let at = At::new(series(hops), mac.name);
                        figure.point(at, metric, &case, read).aside().handle()
                    })
                    .collect();
                let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
                let at = At::new(variant.name, mac.name);
                let mean = figure.made_of_all(at, metric, &of, mean).handle();
                means.push((mac, variant, mean));
            }
        }
        Means(means)
    }

    pub fn of(&self, mac: Mac, variant: Variant) -> Handle {
        let is_it = |it: &&(Mac, Variant, Handle)| (it.0, it.1) == (mac, variant);
        let found = self.0.iter().find(is_it);
        found.expect("every MAC has every variant").2
    }
}

struct Ratio {
    what: &'static str,
    mac: Mac,
    of: [Variant; 2],
    paper: Option<f64>,
    id: &'static str,
}

const RATIOS: [Ratio; 17] = [
    Ratio {
        what: "NullMAC: received segments, ratio of \"cctrl\" / \"unmodified\"",
        mac: NULLMAC,
        of: [CCTRL, UNMODIFIED],
        paper: Some(1.4251),
        id: "nullmac-cctrl",
    },
    Ratio {
        what: "NullMAC: received segments, ratio of \"all\" / \"unmodified\"",
        mac: NULLMAC,
        of: [ALL, UNMODIFIED],
        paper: Some(1.84),
        id: "nullmac-all",
    },
    Ratio {
        what: "NullMAC: received segments, ratio of \"cctrl + dual\" / \"cctrl\"",
        mac: NULLMAC,
        of: [CCTRL_DUAL, CCTRL],
        paper: None,
        id: "nullmac-dual-over-cctrl",
    },
    Ratio {
        what: "NullMAC: received segments, ratio of \"all\" / \"cctrl + dual\"",
        mac: NULLMAC,
        of: [ALL, CCTRL_DUAL],
        paper: None,
        id: "nullmac-all-best",
    },
    Ratio {
        what: "X-MAC: received segments, ratio of \"cctrl\" / \"unmodified\"",
        mac: XMAC,
        of: [CCTRL, UNMODIFIED],
        paper: None,
        id: "xmac-cctrl",
    },
    Ratio {
        what: "X-MAC: received segments, ratio of \"cctrl + dual\" / \"unmodified\"",
        mac: XMAC,
        of: [CCTRL_DUAL, UNMODIFIED],
        paper: Some(1.17),
        id: "xmac-cctrl-dual",
    },
    Ratio {
        what: "X-MAC: received segments, ratio of \"cctrl + dual\" / \"cctrl + activity\"",
        mac: XMAC,
        of: [CCTRL_DUAL, ACTIVITY],
        paper: None,
        id: "xmac-over-activity",
    },
    Ratio {
        what: "X-MAC: received segments, ratio of \"cctrl + dual\" / \"dual\"",
        mac: XMAC,
        of: [CCTRL_DUAL, DUAL],
        paper: None,
        id: "xmac-over-dual",
    },
    Ratio {
        what: "X-MAC: received segments, ratio of \"all\" / \"cctrl + dual\"",
        mac: XMAC,
        of: [ALL, CCTRL_DUAL],
        paper: None,
        id: "xmac-all-similar",
    },
    Ratio {
        what: "ContikiMAC: received segments, ratio of \"cctrl\" / \"unmodified\"",
        mac: CONTIKIMAC,
        of: [CCTRL, UNMODIFIED],
        paper: None,
        id: "contikimac-cctrl",
    },
    Ratio {
        what: "ContikiMAC: received segments, ratio of \"cctrl + activity\" / \"unmodified\"",
        mac: CONTIKIMAC,
        of: [ACTIVITY, UNMODIFIED],
        paper: None,
        id: "contikimac-activity",
    },
    Ratio {
        what: "ContikiMAC: received segments, ratio of \"dual\" / \"unmodified\"",
        mac: CONTIKIMAC,
        of: [DUAL, UNMODIFIED],
        paper: None,
        id: "contikimac-dual",
    },
    Ratio {
        what: "ContikiMAC: received segments, ratio of \"cctrl + dual\" / \"unmodified\"",
        mac: CONTIKIMAC,
        of: [CCTRL_DUAL, UNMODIFIED],
        paper: None,
        id: "contikimac-cctrl-dual",
    },
    Ratio {
        what: "ContikiMAC: received segments, ratio of \"all\" / \"unmodified\"",
        mac: CONTIKIMAC,
        of: [ALL, UNMODIFIED],
        paper: None,
        id: "contikimac-all",
    },
    Ratio {
        what: "LPP: received segments, ratio of \"cctrl\" / \"unmodified\"",
        mac: LPP,
        of: [CCTRL, UNMODIFIED],
        paper: None,
        id: "lpp-cctrl",
    },
    Ratio {
        what: "LPP: received segments, ratio of \"all\" / \"unmodified\"",
        mac: LPP,
        of: [ALL, UNMODIFIED],
        paper: Some(1.40),
        id: "lpp-all",
    },
    Ratio {
        what: "LPP: received segments, ratio of \"all\" / \"cctrl + dual\"",
        mac: LPP,
        of: [ALL, CCTRL_DUAL],
        paper: None,
        id: "lpp-all-best",
    },
];

pub fn figure_9() -> Figure {
    let mut figure = Figure::new(
        "9",
        "Received segments in ten minutes, means of 2 to 6 hops",
    )
    .about(
        "The runs of figures 6 and 8, averaged over 2, 3, 4, 5 and 6 hops. A row \"x / y\" \
                is the ratio of these means.",
    );
    let means = Means::new(&mut figure, case, SEGMENTS, segments);
    let better = [
        (XMAC, UNMODIFIED),
        (XMAC, CCTRL),
        (XMAC, CCTRL_DUAL),
        (CONTIKIMAC, UNMODIFIED),
    ]
    .map(|(mac, variant)| better(&mut figure, mac, variant, SEGMENTS, segments));
    let once = [UNMODIFIED, CCTRL, DUAL, CCTRL_DUAL, ALL].map(|variant| {
        let case = |hops| without_retries(LPP, variant, hops);
        let how = "without link retransmissions";
        mean(
            &mut figure,
            variant.name,
            how,
            LPP,
            SEGMENTS,
            case,
            segments,
        )
    });
    let copies_sent = {
        let case = case(CONTIKIMAC, CCTRL, 4);
        let at = At::new("cctrl, 4 hops", CONTIKIMAC.name);
        figure.point(at, COPIES, &case, copies).aside().handle()
    };
    for it in RATIOS {
        let [one, other] = it.of.map(|variant| means.of(it.mac, variant));
        let mut entry = figure.ratio(it.what, one, other).judged(it.id);
        if let Some(paper) = it.paper {
            entry = entry.paper(paper);
        }
        match it.mac {
            XMAC => entry.cause(LINKS, &better[..3]),
            LPP => entry.cause(RETRIES, &once),
            CONTIKIMAC => entry.cause(IDLE_CACHE, &[copies_sent]),
            _ => entry,
        };
    }
    let (x, contiki) = (means.of(XMAC, CCTRL_DUAL), means.of(CONTIKIMAC, UNMODIFIED));
    figure
        .ratio(
            "received segments, ratio X-MAC with \"cctrl + dual\" / ContikiMAC with unmodified uIP",
            x,
            contiki,
        )
        .judged("xmac-over-contikimac")
        .cause(STALE, &better[2..]);
    figure
}

/// Adds the mean of `metric` over the chains of 2 to 6 hops, with links that deliver 99 % of the
/// frames.
fn better(
    figure: &mut Figure,
    mac: Mac,
    variant: Variant,
    metric: Metric,
    read: fn(&Run) -> Reading,
) -> Handle {
    let case = |hops| over_better_links(mac, variant, hops);
    let how = "links that deliver 99 % of the frames";
    mean(figure, variant.name, how, mac, metric, case, read)
}

/// Adds collapsed rows: a value for each of 2 to 6 hops, and the mean of these values. `how` names
/// the difference from the figure's other runs.
fn mean(
    figure: &mut Figure,
    name: &str,
    how: &str,
    mac: Mac,
    metric: Metric,
    case: impl Fn(u32) -> Case,
    read: fn(&Run) -> Reading,
) -> Handle {
    let series = format!("{name}, {how}");
    let of: Vec<Handle> = HOPS
        .into_iter()
        .map(|hops| {
            let at = At::new(format!("{series}, {hops} hops"), mac.name);
            figure.point(at, metric, &case(hops), read).aside().handle()
        })
        .collect();
    let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
    let at = At::new(series, mac.name);
    figure.made_of_all(at, metric, &of, mean).aside().handle()
}

pub fn figure_10() -> Figure {
    let mut figure = Figure::new("10", "Radio-on time per segment, means of 2 to 6 hops").about(
        "The runs of figures 6 and 8, averaged over 2, 3, 4, 5 and 6 hops. A row \"x / y\" \
                is the ratio of these means.",
    );
    let means = Means::new(&mut figure, case, RADIO, radio_on_a_segment);
    let best = means.of(NULLMAC, ALL);
    let better = [CCTRL, ALL]
        .map(|variant| better(&mut figure, NULLMAC, variant, RADIO, radio_on_a_segment));
    let shares = [XMAC, CONTIKIMAC, LPP].map(|mac| {
        let at = At::new("all, 4 hops", mac.name);
        figure
            .point(at, ON, &case(mac, ALL, 4), on)
            .aside()
            .handle()
    });
    figure
        .of("NullMAC, all", best)
        .paper(0.5)
        .judged("nullmac-below-half-a-second")
        .cause(
            "the five radios of a chain of four hops are on for 3,000 s together in ten minutes, \
             so half a second per segment would require 6,000 segments, more than these links can \
             carry. Over links that deliver 99 % of the frames, the value with the cache alone \
             (cctrl) is below half a second; with all techniques it is above, because the \
             segments of two connections obstruct each other",
            &better,
        );
    let ratio = |figure: &mut Figure, what, one, other, id: &'static str| {
        figure.ratio(what, one, other).judged(id);
    };
    let of = |mac, variant| means.of(mac, variant);
    ratio(
        &mut figure,
        "NullMAC: radio-on time per segment, ratio of \"all\" / \"unmodified\"",
        best,
        of(NULLMAC, UNMODIFIED),
        "nullmac-profits",
    );
    let others: Vec<Handle> = [XMAC, CONTIKIMAC, LPP]
        .into_iter()
        .flat_map(|mac| VARIANTS.map(|variant| of(mac, variant)))
        .collect();
    let all: Vec<Handle> = std::iter::once(best).chain(others).collect();
    figure
        .verdict_of_all(
            "radio-on time per segment, ratio NullMAC with \"all\" / least value of the other MACs \
             with any variant",
            &all,
            |all| all[0] / all[1..].iter().copied().fold(f64::INFINITY, f64::min),
        )
        .judged("nullmac-best-of-all")
        .cause(AWAKE, &shares);
    ratio(
        &mut figure,
        "X-MAC: radio-on time per segment, ratio of \"cctrl + dual\" / \"unmodified\"",
        of(XMAC, CCTRL_DUAL),
        of(XMAC, UNMODIFIED),
        "xmac-improves",
    );
    ratio(
        &mut figure,
        "unmodified uIP: radio-on time per segment, ratio LPP / X-MAC",
        of(LPP, UNMODIFIED),
        of(XMAC, UNMODIFIED),
        "lpp-like-xmac",
    );
    ratio(
        &mut figure,
        "ContikiMAC: radio-on time per segment, ratio of \"cctrl\" / \"unmodified\"",
        of(CONTIKIMAC, CCTRL),
        of(CONTIKIMAC, UNMODIFIED),
        "contikimac-cctrl-worse",
    );
    ratio(
        &mut figure,
        "ContikiMAC: radio-on time per segment, ratio of \"all\" / \"unmodified\"",
        of(CONTIKIMAC, ALL),
        of(CONTIKIMAC, UNMODIFIED),
        "contikimac-all-worse",
    );
    figure
}
