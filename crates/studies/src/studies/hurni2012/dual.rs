//! Figure 8: two connections.

use super::scenes::{
    ALL, CCTRL_DUAL, DUAL, LPP, Mac, NULLMAC, UNMODIFIED, XMAC, beside, greatest, least,
    ratio_of_means, ratios,
};
use super::throughput::{FILTERED, HOPS_LABEL, LINKS, RETRIES, better, filtered, of, once};
use redpoll_experiments::Figure;

/// Minimum ratio of received segments to those with unmodified uIP that counts as doubled.
const DOUBLED: f64 = 1.6;

pub fn figure_8(mac: Mac) -> Figure {
    let (name, title) = match mac.letter {
        "a" => (
            "8a",
            "Received segments in ten minutes, two connections, NullMAC",
        ),
        "b" => (
            "8b",
            "Received segments in ten minutes, two connections, X-MAC",
        ),
        "c" => (
            "8c",
            "Received segments in ten minutes, two connections, ContikiMAC",
        ),
        _ => (
            "8d",
            "Received segments in ten minutes, two connections, LPP",
        ),
    };
    let mut figure = Figure::new(name, title).x_label(HOPS_LABEL).about(
        "Segments of 16 bytes that arrived within ten minutes over the chain: unmodified uIP; with \
         two connections (dual); with the cache and two connections (cctrl + dual); with the \
         cache, activity monitoring and two connections (all). A row \"x / y\" is the ratio of the \
         means over 2 to 6 hops, or over the numbers of hops in its name.",
    );
    let [unmodified, dual, both, all] =
        [UNMODIFIED, DUAL, CCTRL_DUAL, ALL].map(|variant| of(&mut figure, mac, variant));
    let hops = [2, 3, 4, 5, 6];
    match mac {
        NULLMAC => {
            let quiet = filtered(&mut figure, ALL);
            figure
                .verdict_of_all(
                    "number of chain lengths at which \"cctrl + dual\" delivers at least 1.6 times as many segments as unmodified uIP",
                    &beside(&both, &unmodified, &hops),
                    |all| ratios(all).filter(|ratio| *ratio >= DOUBLED).count() as f64,
                )
                .judged("doubles");
            figure
                .verdict_of_all(
                    "received segments, ratio of \"all\" / \"cctrl + dual\", 2 and 3 hops",
                    &beside(&all, &both, &[2, 3]),
                    ratio_of_means,
                )
                .judged("all-short");
            figure
                .verdict_of_all(
                    "received segments, ratio of \"all\" / \"cctrl + dual\", 4 to 6 hops",
                    &beside(&all, &both, &[4, 5, 6]),
                    ratio_of_means,
                )
                .judged("all-long")
                .cause(FILTERED, &[both.at(6), all.at(6), quiet.at(6)]);
        }
        XMAC => {
            let [one, other, cached] =
                [UNMODIFIED, DUAL, CCTRL_DUAL].map(|variant| better(&mut figure, XMAC, variant));
            let shown: Vec<_> = [&unmodified, &dual, &both, &one, &other, &cached]
                .map(|line| line.at(4))
                .into();
            figure
                .verdict_of_all(
                    "received segments, \"cctrl + dual\" / \"unmodified\", least ratio at 2 to 6 \
                     hops",
                    &beside(&both, &unmodified, &hops),
                    least,
                )
                .judged("consistent");
            figure
                .verdict_of_all(
                    "received segments, \"cctrl + dual\" / \"unmodified\", greatest ratio at 2 \
                     to 6 hops",
                    &beside(&both, &unmodified, &hops),
                    greatest,
                )
                .paper(1.37)
                .judged("best")
                .cause(LINKS, &shown);
            figure
                .verdict_of_all(
                    "received segments, ratio of \"dual\" / \"unmodified\"",
                    &beside(&dual, &unmodified, &hops),
                    ratio_of_means,
                )
                .judged("only-with-cctrl")
                .cause(LINKS, &shown);
        }
        LPP => {
            let sent_once =
                [UNMODIFIED, DUAL, CCTRL_DUAL, ALL].map(|variant| once(&mut figure, variant).at(4));
            let sent_again = [&unmodified, &dual, &both, &all].map(|line| line.at(4));
            let shown = [sent_again, sent_once].concat();
            figure
                .verdict_of_all(
                    "received segments, ratio of \"dual\" / \"unmodified\"",
                    &beside(&dual, &unmodified, &hops),
                    ratio_of_means,
                )
                .judged("dual-helps")
                .cause(RETRIES, &shown);
            figure
                .verdict_of_all(
                    "received segments, ratio of \"all\" / \"dual\"",
                    &beside(&all, &dual, &hops),
                    ratio_of_means,
                )
                .judged("all-over-dual")
                .cause(RETRIES, &shown);
            figure
                .verdict_of_all(
                    "received segments, ratio of \"all\" / \"cctrl + dual\"",
                    &beside(&all, &both, &hops),
                    ratio_of_means,
                )
                .judged("all-over-cctrl-dual")
                .cause(RETRIES, &shown);
        }
        _ => {
            for (what, line, id) in [
                (
                    "received segments, ratio of \"dual\" / \"unmodified\"",
                    &dual,
                    "dual-below",
                ),
                (
                    "received segments, ratio of \"cctrl + dual\" / \"unmodified\"",
                    &both,
                    "cctrl-dual-below",
                ),
                (
                    "received segments, ratio of \"all\" / \"unmodified\"",
                    &all,
                    "all-below",
                ),
            ] {
                figure
                    .verdict_of_all(what, &beside(line, &unmodified, &hops), ratio_of_means)
                    .judged(id);
            }
        }
    }
    figure
}
