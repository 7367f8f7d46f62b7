//! Lengths of headers (the paper's table 5).

use super::scenes::{line, uplink};
use crate::vocabulary::probes::air::{Bytes, HeaderBytes, Headers, Range};
use crate::vocabulary::profiles::{TCPLP_SECURITY_BYTES, tcplp};
use redpoll_experiments::{At, Case, Figure, Gap, Handle, Metric, Probed, X};

const BYTES: Metric = Metric::new("bytes", "B");
const ROOM: Metric = Metric::new("room in a frame after the headers of 802.15.4", "B");
const SHARE: Metric = Metric::new("headers' share of a frame, segments of one frame", "%");

type OfLayer = fn(HeaderBytes<Range>) -> Range;

/// A layer: its name in the table, the reader of its bytes, and the paper's smallest and largest
/// length in the first frame of a segment and in later frames.
type Layer = (&'static str, OfLayer, [f64; 2], Option<[f64; 2]>);

/// The layers above 6LoWPAN have their headers only in the first frame.
const LAYERS: [Layer; 5] = [
    ("802.15.4", |it| it.mac, [11.0, 23.0], Some([11.0, 23.0])),
    ("6LoWPAN", |it| it.lowpan, [5.0, 5.0], Some([5.0, 12.0])),
    ("IPv6", |it| it.ip, [2.0, 28.0], None),
    ("TCP", |it| it.tcp, [20.0, 44.0], None),
    ("total", |it| it.total, [38.0, 107.0], Some([16.0, 35.0])),
];

type OfFrame = fn(&Bytes) -> Result<HeaderBytes<Range>, Gap>;

pub fn table_5() -> Figure {
    let mut figure = Figure::new("table-5", "Header bytes of a segment's frames")
        .x_label("layer")
        .about(
            "The study counts the header bytes of the frames on the air that carry data, with \
             5-frame segments. The least value is that of frames to a neighbour, the greatest that \
             of frames to a host behind the border router. The bytes of 802.15.4 include check \
             sequence and link security; the first byte of a compressed header counts as \
             6LoWPAN's. The paper's values are the ends of its ranges.",
        );
    // Headers to a neighbour contain no part of the addresses; headers to and from a host beyond
    // the mesh contain its full address.
    let inside = tcplp(line(1)).probe(Headers);
    let outside = tcplp(uplink()).probe(Headers);
    for (name, layer, first, next) in LAYERS {
        let of_first: OfFrame = Bytes::first;
        let frames = [
            (
                of_first,
                ["first frame, least", "first frame, most"],
                Some(first),
            ),
            (
                Bytes::next,
                ["later frames, least", "later frames, most"],
                next,
            ),
        ];
        // The bytes of simulated frames do not include link security.
        let security = match name {
            "802.15.4" | "total" => f64::from(TCPLP_SECURITY_BYTES),
            _ => 0.0,
        };
        for (frame, [least, most], paper) in frames {
            let Some([low, high]) = paper else { continue };
            figure
                .seen(At::new(least, name), BYTES, &inside, move |_, bytes| {
                    Ok(layer(frame(bytes)?).least() + security)
                })
                .paper(low);
            figure
                .seen(At::new(most, name), BYTES, &outside, move |_, bytes| {
                    Ok(layer(frame(bytes)?).most() + security)
                })
                .paper(high);
        }
    }
    figure
        .seen(At::new("table 4", X::None), ROOM, &outside, |_, bytes| {
            Ok(bytes.room()?.most() - f64::from(TCPLP_SECURITY_BYTES))
        })
        .paper(116.0);
    one_frame(&mut figure);
    figure
}

/// Returns segments of one frame with `security` bytes of link security, to a neighbour or to a
/// host behind the border router.
fn single(case: Case, security: u32) -> Probed<Headers> {
    tcplp(case.set("tcp.mss", "1 frames"))
        .set("mac.security_bytes", security)
        .probe(Headers)
}

/// Adds the share of headers in a frame that holds a whole segment.
fn share(figure: &mut Figure, series: &'static str, case: Case, security: u32) -> Handle {
    figure
        .seen(
            At::new(series, X::None),
            SHARE,
            &single(case, security),
            move |_, bytes| Ok(100.0 * bytes.share_with(security as usize)?),
        )
        .handle()
}

/// Adds segments of one frame. The paper says that headers are more than half of the frame.
fn one_frame(figure: &mut Figure) {
    let judged = share(figure, "one frame", line(1), TCPLP_SECURITY_BYTES);
    // The bytes of each header in one frame that holds a whole segment.
    let inside = single(line(1), TCPLP_SECURITY_BYTES);
    let shown_by = LAYERS.map(|(name, layer, _, _)| {
        let security = match name {
            "802.15.4" | "total" => f64::from(TCPLP_SECURITY_BYTES),
            _ => 0.0,
        };
        figure
            .seen(
                At::new("one frame, least", name),
                BYTES,
                &inside,
                move |_, bytes| Ok(layer(bytes.first()?).least() + security),
            )
            .handle()
    });
    // Table 5's shortest and longest MAC header: 11 and 23 bytes.
    let shown = [
        share(figure, "one frame, MAC headers of 11 B", line(1), 0),
        share(figure, "one frame, MAC headers of 23 B", line(1), 12),
        share(
            figure,
            "one frame, to a host",
            uplink(),
            TCPLP_SECURITY_BYTES,
        ),
    ];
    let shown_by = [&shown_by[..], &shown].concat();
    figure
        .row(judged)
        .paper(50.0)
        .judged("share-one-frame")
        .cause(
            "the share depends on the MAC header, for which the paper gives 11 to 23 bytes and \
             this study assumes 15, and on how much of the addresses is compressed",
            &shown_by,
        );
}
