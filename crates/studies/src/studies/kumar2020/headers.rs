//! How long headers are: the paper's table 5.

use super::scenes::{line, uplink};
use crate::engine::figure::{Figure, Metric, X};
use crate::engine::run::Gap;
use crate::vocabulary::probes::air::{Bytes, HeaderBytes, Headers, Range};
use crate::vocabulary::profiles::{TCPLP_SECURITY_BYTES, tcplp};

const BYTES: Metric = Metric::new("bytes", "B");
const ROOM: Metric = Metric::new("room in a frame", "B");
const SHARE: Metric = Metric::new("headers' share of a frame, segments of one frame", "%");

type OfLayer = fn(HeaderBytes<Range>) -> Range;

/// A layer: its name in the table, where its bytes are, and the paper's least and
/// most in the first frame of a segment and in those that follow.
type Layer = (&'static str, OfLayer, [f64; 2], Option<[f64; 2]>);

/// What comes above 6LoWPAN has its header in the first frame alone.
const LAYERS: [Layer; 5] = [
    ("802.15.4", |it| it.mac, [11.0, 23.0], Some([11.0, 23.0])),
    ("6LoWPAN", |it| it.lowpan, [5.0, 5.0], Some([5.0, 12.0])),
    ("IPv6", |it| it.ip, [2.0, 28.0], None),
    ("TCP", |it| it.tcp, [20.0, 44.0], None),
    ("total", |it| it.total, [38.0, 107.0], Some([16.0, 35.0])),
];

type OfFrame = fn(&Bytes) -> Result<HeaderBytes<Range>, Gap>;

/// Table 5.
pub fn table_5() -> Figure {
    let mut figure = Figure::new("table-5", "Header bytes of a segment's frames")
        .x_label("layer")
        .about(
            "Counted in the frames on the air that carry data: the least to a neighbour, the \
             most to a host behind the border router, 5-frame segments. 802.15.4 with its \
             check sequence and link security; the first byte of a compressed header counts as \
             6LoWPAN's. The paper's are ranges, too: its least and its most.",
        );
    // To a neighbour nothing of the addresses is left; to a host beyond the
    // mesh, and back, its whole address is there.
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
        // Link security is not among the bytes of simulated frames.
        let security = match name {
            "802.15.4" | "total" => f64::from(TCPLP_SECURITY_BYTES),
            _ => 0.0,
        };
        for (frame, [least, most], paper) in frames {
            let Some([low, high]) = paper else { continue };
            figure
                .seen((least, name), BYTES, &inside, move |_, bytes| {
                    Ok(layer(frame(bytes)?).least() + security)
                })
                .paper(low);
            figure
                .seen((most, name), BYTES, &outside, move |_, bytes| {
                    Ok(layer(frame(bytes)?).most() + security)
                })
                .paper(high);
        }
    }
    let single = tcplp(line(1).set("tcp.mss", "1 frames")).probe(Headers);
    figure
        .seen(("table 4", X::None), ROOM, &outside, |_, bytes| {
            Ok(bytes.room()?.most() - f64::from(TCPLP_SECURITY_BYTES))
        })
        .paper(116.0);
    figure
        .seen(("one frame", X::None), SHARE, &single, |_, bytes| {
            Ok(100.0 * bytes.share_with(TCPLP_SECURITY_BYTES as usize)?)
        })
        .paper(50.0)
        .judged("share-one-frame")
        .cause(
            "51 bytes of 103, as addresses inside the mesh take no byte, and a segment leaves \
             room for options",
            &[],
        );
    figure
}
