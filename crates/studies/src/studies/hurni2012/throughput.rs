//! Figure 6: segments that the receiver received, by hops.

use super::scenes::{
    ACTIVITY, CCTRL, CONTIKIMAC, COPIES, HOPS, LPP, MACS, Mac, NULLMAC, SEGMENTS, UNMODIFIED,
    Variant, XMAC, aside, beside, case, copies, least, line, over_better_links, ratio_of_means,
    segments, with_early_copies, with_filter, without_memory, without_retries,
};
use redpoll_experiments::{Figure, Handle, Line};

pub(super) const HOPS_LABEL: &str = "hops";

/// Adds a line of the segments that arrived with a variant, by the number of hops.
pub(super) fn of(figure: &mut Figure, mac: Mac, variant: Variant) -> Line {
    line(
        figure,
        variant.name,
        SEGMENTS,
        |hops| case(mac, variant, hops),
        segments,
    )
}

/// Adds, collapsed on the page, the segments over better links.
pub(super) fn better(figure: &mut Figure, mac: Mac, variant: Variant) -> Line {
    let series = format!("{}, links that deliver 99 % of the frames", variant.name);
    let case = |hops| over_better_links(mac, variant, hops);
    aside(figure, &series, SEGMENTS, case, segments)
}

/// Adds, collapsed on the page, the segments over LPP with one transmission per frame.
pub(super) fn once(figure: &mut Figure, variant: Variant) -> Line {
    let series = format!("{}, without link retransmissions", variant.name);
    let case = |hops| without_retries(LPP, variant, hops);
    aside(figure, &series, SEGMENTS, case, segments)
}

/// Adds, collapsed on the page, the segments over NullMAC with caches that overhear no frames for
/// other nodes.
pub(super) fn filtered(figure: &mut Figure, variant: Variant) -> Line {
    let series = format!("{}, radios filter frames for other nodes", variant.name);
    let case = |hops| with_filter(NULLMAC, variant, hops);
    aside(figure, &series, SEGMENTS, case, segments)
}

struct Lines {
    unmodified: Line,
    cctrl: Line,
    activity: Line,
}

pub fn figure_6(mac: Mac) -> Figure {
    let (name, title) = match mac.letter {
        "a" => ("6a", "Received segments in ten minutes, NullMAC"),
        "b" => ("6b", "Received segments in ten minutes, X-MAC"),
        "c" => ("6c", "Received segments in ten minutes, ContikiMAC"),
        _ => ("6d", "Received segments in ten minutes, LPP"),
    };
    let mut figure = Figure::new(name, title).x_label(HOPS_LABEL).about(
        "Segments of 16 bytes that arrived within ten minutes over the chain: unmodified uIP, with \
         the cache, and with cache and activity monitoring. A row \"x / y\" is the ratio of the \
         means over 2 to 6 hops, or over the numbers of hops in its name.",
    );
    let [unmodified, cctrl, activity] =
        [UNMODIFIED, CCTRL, ACTIVITY].map(|variant| of(&mut figure, mac, variant));
    let lines = Lines {
        unmodified,
        cctrl,
        activity,
    };
    match mac {
        NULLMAC => nullmac(&mut figure, &lines),
        XMAC => xmac(&mut figure, &lines),
        CONTIKIMAC => contikimac(&mut figure, &lines),
        _ => lpp(&mut figure, &lines),
    }
    figure
}

fn nullmac(figure: &mut Figure, it: &Lines) {
    let better = [UNMODIFIED, CCTRL].map(|variant| better(figure, NULLMAC, variant));
    let case = |hops| without_memory(NULLMAC, CCTRL, hops);
    let series = "cctrl, routers also forward copies of already forwarded packets";
    let forgetful = aside(figure, series, SEGMENTS, case, segments);
    let shown = [
        it.unmodified.at(6),
        it.cctrl.at(6),
        better[0].at(6),
        better[1].at(6),
        forgetful.at(6),
    ];
    figure
        .verdict_of_all(
            "received segments, ratio of \"cctrl\" / \"unmodified\", 5 and 6 hops",
            &beside(&it.cctrl, &it.unmodified, &[5, 6]),
            ratio_of_means,
        )
        .judged("cctrl-long")
        .cause(LINKS, &shown);
    figure
        .verdict_of_all(
            "received segments, ratio of \"cctrl\" / \"unmodified\", 2 to 4 hops",
            &beside(&it.cctrl, &it.unmodified, &[2, 3, 4]),
            ratio_of_means,
        )
        .judged("cctrl-short");
    let filtered = filtered(figure, ACTIVITY);
    let shown = [it.cctrl.at(6), it.activity.at(6), filtered.at(6)];
    with_activity(figure, it, &[2, 3], "activity-short", FILTERED, &shown);
    with_activity(figure, it, &[4, 5, 6], "activity-long", FILTERED, &shown);
}

fn xmac(figure: &mut Figure, it: &Lines) {
    let better = [UNMODIFIED, CCTRL, ACTIVITY].map(|variant| better(figure, XMAC, variant));
    let shown = [
        it.unmodified.at(6),
        it.cctrl.at(6),
        better[0].at(6),
        better[1].at(6),
        better[2].at(6),
    ];
    figure
        .verdict_of_all(
            "received segments, ratio of \"cctrl\" / \"unmodified\"",
            &beside(&it.cctrl, &it.unmodified, &HOPS),
            ratio_of_means,
        )
        .judged("cctrl-same")
        .cause(LINKS, &shown);
    with_activity(figure, it, &[2, 3], "activity-short", LINKS, &shown);
    with_activity(figure, it, &[4, 5, 6], "activity-long", LINKS, &shown);
    figure
        .verdict_of_all(
            "received segments, ratio of \"cctrl + activity\" / \"unmodified\", 5 and 6 hops",
            &beside(&it.activity, &it.unmodified, &[5, 6]),
            ratio_of_means,
        )
        .judged("activity-below")
        .cause(LINKS, &shown);
}

fn contikimac(figure: &mut Figure, it: &Lines) {
    let of = |variant| move |hops| case(CONTIKIMAC, variant, hops);
    let sent = aside(figure, "cctrl", COPIES, of(CCTRL), copies);
    let earlier = aside(figure, "cctrl + activity", COPIES, of(ACTIVITY), copies);
    let series = "cctrl, caches retransmit after 1.5 round-trip times";
    let case = |hops| with_early_copies(CONTIKIMAC, hops);
    let hasty = aside(figure, series, SEGMENTS, case, segments);
    figure
        .verdict_of_all(
            "received segments, ratio of \"cctrl\" / \"unmodified\"",
            &beside(&it.cctrl, &it.unmodified, &HOPS),
            ratio_of_means,
        )
        .judged("cctrl-falls")
        .cause(
            IDLE_CACHE,
            &[sent.at(4), it.unmodified.at(4), it.cctrl.at(4), hasty.at(4)],
        );
    figure
        .verdict_of_all(
            "received segments, ratio of \"cctrl + activity\" / \"unmodified\"",
            &beside(&it.activity, &it.unmodified, &HOPS),
            ratio_of_means,
        )
        .judged("activity-below")
        .cause(IDLE_CACHE, &[earlier.at(2), earlier.at(4), earlier.at(6)]);
    figure
        .verdict_of_all(
            "received segments, ratio of \"cctrl + activity\" / \"cctrl\", 2 to 4 hops",
            &beside(&it.activity, &it.cctrl, &[2, 3, 4]),
            ratio_of_means,
        )
        .judged("activity-short")
        .cause(
            "the cache alone hardly reduces throughput here, so activity monitoring has little to \
             improve; if caches retransmit after 1.5 instead of three round-trip times, \
             throughput is much lower",
            &[sent.at(4), earlier.at(4), it.activity.at(4), hasty.at(4)],
        );
}

fn lpp(figure: &mut Figure, it: &Lines) {
    let [unmodified, cctrl, activity] =
        [UNMODIFIED, CCTRL, ACTIVITY].map(|variant| once(figure, variant));
    let shown = [
        it.unmodified.at(4),
        it.cctrl.at(4),
        it.activity.at(4),
        unmodified.at(4),
        cctrl.at(4),
        activity.at(4),
    ];
    figure
        .verdict_of_all(
            "received segments, ratio of \"cctrl\" / \"unmodified\"",
            &beside(&it.cctrl, &it.unmodified, &HOPS),
            ratio_of_means,
        )
        .judged("cctrl-same")
        .cause(RETRIES, &shown);
    figure
        .verdict_of_all(
            "received segments, \"cctrl + activity\" / \"cctrl\", least ratio at 2 to 6 hops",
            &beside(&it.activity, &it.cctrl, &HOPS),
            least,
        )
        .judged("activity-better")
        .cause(RETRIES, &shown);
}

/// Adds the ratio of the segments with and without activity monitoring over some numbers of hops,
/// and the cause of this ratio.
fn with_activity(
    figure: &mut Figure,
    it: &Lines,
    hops: &'static [u32],
    id: &'static str,
    why: &str,
    shown: &[Handle],
) {
    let what = match hops.len() {
        2 => "received segments, ratio of \"cctrl + activity\" / \"cctrl\", 2 and 3 hops",
        _ => "received segments, ratio of \"cctrl + activity\" / \"cctrl\", 4 to 6 hops",
    };
    figure
        .verdict_of_all(what, &beside(&it.activity, &it.cctrl, hops), ratio_of_means)
        .judged(id)
        .cause(why, shown);
}

/// Why the cache gains more than in the paper.
pub(super) const LINKS: &str = "unmodified uIP waits for seconds after each loss, so the ratio \
    depends on the share of frames that the links lose, which the paper does not state";
/// Why the cache has no effect over ContikiMAC.
pub(super) const IDLE_CACHE: &str = "caches send few copies after three round-trip times, because \
    the link itself retransmits lost frames; if they send copies after half of that time, far \
    fewer segments arrive";
/// Why X-MAC is slow.
pub(super) const STALE: &str = "a node that sends by X-MAC shifts its wake-up times, so its \
    neighbours send to it at a wrong time and need more strobes; in addition, X-MAC does not \
    retransmit lost data frames";
/// Why no technique helps LPP.
pub(super) const RETRIES: &str = "the link retransmits lost frames, so uIP seldom waits for a \
    timeout; the copies of a cache and the segments of a second connection then only delay other \
    frames. Without link retransmissions, they increase throughput";
/// Why activity monitoring harms less than in the paper.
pub(super) const FILTERED: &str = "caches overhear frames for other nodes, as the paper says, and \
    seldom judge the channel quiet too early; if the radio's filter drops those frames, as in \
    Contiki 2.5 on these nodes, caches retransmit early over long routes, and throughput is lower";

pub fn figure_6e() -> Figure {
    let mut figure = Figure::new(
        "6e",
        "Received segments in ten minutes, with cctrl and activity",
    )
    .x_label(HOPS_LABEL)
    .about(
        "The runs of figures 6a to 6d with cache and activity monitoring. A row \"x / y\" \
                is the ratio of the means over 2 to 6 hops.",
    );
    let lines = MACS.map(|mac| {
        line(
            &mut figure,
            mac.name,
            SEGMENTS,
            |hops| case(mac, ACTIVITY, hops),
            segments,
        )
    });
    let all = [2, 3, 4, 5, 6];
    let each: Vec<_> = lines.iter().flat_map(Line::all).collect();
    let over_best = |all: &[f64]| -> Vec<f64> {
        let (null, others) = all.split_at(HOPS.len());
        let best = |at: usize| {
            others
                .chunks(HOPS.len())
                .map(|of| of[at])
                .fold(0.0, f64::max)
        };
        (0..null.len()).map(|at| null[at] / best(at)).collect()
    };
    figure
        .verdict_of_all(
            "received segments, NullMAC / the best of the other MACs, least ratio at 2 to 6 \
             hops",
            &each,
            move |all| over_best(all).into_iter().fold(f64::INFINITY, f64::min),
        )
        .judged("nullmac-least");
    figure
        .verdict_of_all(
            "received segments, NullMAC / the best of the other MACs, greatest ratio at 2 to 6 \
             hops",
            &each,
            move |all| over_best(all).into_iter().fold(0.0, f64::max),
        )
        .judged("nullmac-greatest");
    let [_, x, contiki, lpp] = &lines;
    figure
        .verdict_of_all(
            "received segments, ratio LPP / X-MAC",
            &beside(lpp, x, &all),
            ratio_of_means,
        )
        .judged("lpp-behind-xmac")
        .cause(LINKS, &beside(lpp, x, &[2, 4, 6]));
    figure
        .verdict_of_all(
            "received segments, ratio LPP / ContikiMAC",
            &beside(lpp, contiki, &all),
            ratio_of_means,
        )
        .judged("lpp-behind-contikimac");
    figure
        .verdict_of_all(
            "received segments, ratio ContikiMAC / X-MAC",
            &beside(contiki, x, &all),
            ratio_of_means,
        )
        .judged("contikimac-like-xmac")
        .cause(STALE, &beside(contiki, x, &[2, 4, 6]));
    figure
}
