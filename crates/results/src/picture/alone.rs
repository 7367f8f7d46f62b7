//! Self-contained pictures with letters as outlines, so that they look the same everywhere, also on
//! paper, and images of them.

use std::fmt::Write as _;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};
use ttf_parser::{Face, GlyphId, OutlineBuilder};

use super::style::dressed;

/// Font size in pixels, which is also that of the pages' style.
const LETTERS_PX: f64 = 12.0;
/// Pixels of an image per pixel of the picture: 300 dpi for a picture of 96 dpi.
const SCALE: f32 = 3.125;

/// The reason why a picture cannot become an image.
#[derive(Debug, thiserror::Error)]
pub enum PngError {
    #[error("the picture cannot be drawn: {0}")]
    Svg(#[from] resvg::usvg::Error),
    #[error("the picture is too large for a PNG file; write an SVG file")]
    Size,
    #[error("the image cannot be encoded: {0}")]
    Encode(String),
}

/// Makes a page's picture a self-contained file on a white background, with letters as outlines.
pub fn standalone(svg: &str) -> String {
    dressed(&outlined(svg), ".text")
}

/// Renders a self-contained picture as PNG. Fails if the picture is not valid SVG, or is too large.
pub fn png(standalone: &str) -> Result<Vec<u8>, PngError> {
    let tree = Tree::from_str(standalone, &Options::default())?;
    let size = tree.size().to_int_size();
    let px = |length: u32| (length as f32 * SCALE) as u32;
    let mut image = Pixmap::new(px(size.width()), px(size.height())).ok_or(PngError::Size)?;
    let transform = Transform::from_scale(SCALE, SCALE);
    resvg::render(&tree, transform, &mut image.as_mut());
    image
        .encode_png()
        .map_err(|error| PngError::Encode(error.to_string()))
}

/// Replaces each text of the picture by a shape.
fn outlined(svg: &str) -> String {
    let faces = [dejavu::sans::regular(), dejavu::sans::bold()];
    let faces = faces.map(|font| Face::parse(font, 0).ok());
    let mut out = String::new();
    let mut rest = svg;
    while let Some((before, after)) = rest.split_once("<text") {
        out.push_str(before);
        let parts = after.split_once('>');
        let parts = parts.and_then(|(tag, after)| Some((tag, after.split_once("</text>")?)));
        let Some((tag, (text, after))) = parts else {
            // The tag is not closed, which does not occur in this program's pictures.
            rest = after;
            continue;
        };
        let is_bold = attribute(tag, "font-weight") == Some("600");
        if let Some(face) = &faces[usize::from(is_bold)] {
            shape(&mut out, face, tag, text);
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let (_, after) = tag.split_once(&format!(" {name}=\""))?;
    after.split('"').next()
}

/// Draws a text at the position in its tag.
fn shape(out: &mut String, face: &Face<'_>, tag: &str, escaped: &str) {
    let text = escaped
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&amp;", "&");
    let place = |name| {
        attribute(tag, name)
            .and_then(|it| it.parse::<f64>().ok())
            .unwrap_or(0.0)
    };
    let scale = LETTERS_PX / f64::from(face.units_per_em());
    let glyphs: Vec<(GlyphId, f64)> = text
        .chars()
        .map(|letter| {
            let glyph = face.glyph_index(letter).unwrap_or_default();
            let advance = face.glyph_hor_advance(glyph).unwrap_or_default();
            (glyph, f64::from(advance) * scale)
        })
        .collect();
    let width: f64 = glyphs.iter().map(|(_, advance)| advance).sum();
    let start = match attribute(tag, "text-anchor") {
        Some("end") => place("x") - width,
        Some("middle") => place("x") - width / 2.0,
        _ => place("x"),
    };
    let mut pen = Pen {
        path: String::new(),
        at: (start, place("y")),
        scale,
    };
    for (glyph, advance) in glyphs {
        face.outline_glyph(glyph, &mut pen);
        pen.at.0 += advance;
    }
    let class = attribute(tag, "class").unwrap_or_default();
    let _ = write!(
        out,
        "<path class=\"text {class}\" aria-label=\"{escaped}\" d=\"{}\"/>",
        pen.path
    );
}

struct Pen {
    path: String,
    at: (f64, f64),
    scale: f64,
}

impl Pen {
    fn put(&mut self, verb: char, places: &[(f32, f32)]) {
        self.path.push(verb);
        for (x, y) in places {
            let x = self.at.0 + f64::from(*x) * self.scale;
            let y = self.at.1 - f64::from(*y) * self.scale;
            let _ = write!(self.path, "{x:.2} {y:.2} ");
        }
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        self.put('M', &[(x, y)]);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.put('L', &[(x, y)]);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.put('Q', &[(x1, y1), (x, y)]);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.put('C', &[(x1, y1), (x2, y2), (x, y)]);
    }

    fn close(&mut self) {
        self.path.push('Z');
    }
}

#[cfg(test)]
mod tests {
    use redpoll_experiments::page::{Fit, Line, Look, Plot};

    use super::{png, standalone};

    #[test]
    fn a_standalone_picture_has_no_fonts_or_colour_names_and_renders() {
        let line = Line {
            name: "µ & <ö>".to_owned(),
            look: Look::nth(1, 0),
            points: vec![(0.0, Some(0.0)), (10.0, Some(5.0))],
        };
        let plot = Plot {
            title: "height (m)".to_owned(),
            x_label: "time (s)".to_owned(),
            is_logarithmic: false,
            lines: vec![line],
        };
        let svg = standalone(&plot.svg(Fit::Page));
        assert!(!svg.contains("var(") && !svg.contains("<text"), "{svg}");
        assert!(svg.contains("aria-label=\"µ &amp; &lt;ö&gt;\""));
        let image = png(&svg).unwrap();
        assert!(image.starts_with(b"\x89PNG") && image.len() > 2_000);
        // The image has the line's colour, and a white corner.
        let image = resvg::tiny_skia::Pixmap::decode_png(&image).unwrap();
        let has = |colour: [u8; 3]| {
            let mut pixels = image.pixels().iter();
            pixels.any(|it| [it.red(), it.green(), it.blue()] == colour)
        };
        assert!(has([0xc9, 0x4a, 0x00]), "the line's vermilion");
        assert!(has([0x1b, 0x1f, 0x24]), "the letters' ink");
        assert_eq!(
            image.pixel(0, 0).map(|it| (it.red(), it.alpha())),
            Some((255, 255))
        );
    }
}
