//! Points and legends. Series differ in shape as well as in colour, so that neither print nor eyes lose them.

use std::fmt::Write as _;

use super::escape::escape;

/// Colours in the style sheet.
const COLOURS: usize = 8;

/// The class that colours a series.
pub(super) fn class(series: usize) -> String {
    format!("s{}", series % COLOURS)
}

/// A point with a tooltip.
pub(super) fn point(series: usize, (x, y): (f64, f64), radius: f64, tooltip: &str) -> String {
    marked(series, "point", tooltip, &shape(series, x, y, radius))
}

/// An invisible target for the pointer, which shows itself when touched.
pub(super) fn target(series: usize, at: (f64, f64), tooltip: &str) -> String {
    marked(series, "target", tooltip, &shape(series, at.0, at.1, 5.0))
}

/// A drawn thing with a tooltip.
pub(super) fn marked(series: usize, kind: &str, tooltip: &str, drawing: &str) -> String {
    format!(
        "<g class=\"mark {kind} {}\"><title>{}</title>{drawing}</g>",
        class(series),
        escape(tooltip)
    )
}

/// The legend: names next to the marks of their series; empty for a single series, which the title names.
pub(super) fn legend<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    if names.len() < 2 {
        return String::new();
    }
    let mut html = String::from("<ul class=\"legend\">");
    for (n, name) in names.enumerate() {
        let _ = write!(
            html,
            "<li><svg class=\"{}\" viewBox=\"0 0 26 12\" aria-hidden=\"true\">\
             <path class=\"stroke\" d=\"M1 6H25\"/>{}</svg>{}</li>",
            class(n),
            shape(n, 13.0, 6.0, 4.0),
            escape(name)
        );
    }
    html + "</ul>"
}

/// Shapes of about the same area, one per series in turn.
fn shape(series: usize, x: f64, y: f64, r: f64) -> String {
    match series % 4 {
        0 => format!("<circle class=\"fill\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{r:.1}\"/>"),
        1 => polygon(
            x,
            y,
            &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
            r,
        ),
        2 => polygon(x, y, &[(0.0, -1.25), (1.15, 0.8), (-1.15, 0.8)], r),
        _ => polygon(x, y, &[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)], r),
    }
}

fn polygon(x: f64, y: f64, corners: &[(f64, f64)], r: f64) -> String {
    let places = corners
        .iter()
        .map(|(dx, dy)| format!("{:.1} {:.1}", x + dx * r, y + dy * r));
    let path = places.collect::<Vec<_>>().join("L");
    format!("<path class=\"fill\" d=\"M{path}Z\"/>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_series_differ_in_shape_and_colour() {
        for n in 0..6 {
            assert_ne!(shape(n, 0.0, 0.0, 1.0), shape(n + 1, 0.0, 0.0, 1.0));
            assert_ne!(class(n), class(n + 1));
        }
    }

    #[test]
    fn one_series_needs_no_legend() {
        assert_eq!(legend(["a"].into_iter()), "");
        assert_eq!(legend(["a", "<b>"].into_iter()).matches("<li>").count(), 2);
        assert!(legend(["a", "<b>"].into_iter()).contains("&lt;b&gt;"));
    }

    #[test]
    fn tooltips_are_escaped() {
        assert!(point(0, (1.0, 2.0), 3.0, "<x>").contains("<title>&lt;x&gt;</title>"));
    }
}
