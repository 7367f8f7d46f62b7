//! The means of figure 9 over fading links, which the other figures do not have.

use super::overall::Means;
use super::scenes::{
    MACS, SEGMENTS, UNMODIFIED, VARIANTS, over_fading_links, ratio_of_means, segments,
};
use redpoll_experiments::{At, Figure, Metric};

/// Number of received segments, divided by the number with unmodified uIP.
const GAIN: Metric = Metric::new(
    "received segments, ratio of this variant / unmodified uIP",
    "",
);

/// Shows how far the other figures depend on their model of links. None of its rows is judged.
pub fn fading() -> Figure {
    let mut figure = Figure::new("fading", "Figure 9 over fading links").about(
        "As figure 9, but with nodes 10 m apart and a Rician gain for each frame. A frame arrives \
         if its power is high enough relative to noise and to other frames, so the stronger of two \
         overlapping frames may arrive.",
    );
    let means = Means::new(&mut figure, over_fading_links, SEGMENTS, segments);
    for mac in MACS {
        for variant in &VARIANTS[1..] {
            let both = [means.of(mac, *variant), means.of(mac, UNMODIFIED)];
            figure.made_of_all(At::new(variant.name, mac.name), GAIN, &both, ratio_of_means);
        }
    }
    figure
}
