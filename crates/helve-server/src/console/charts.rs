//! Small charts, drawn as SVG: bars for the last hour, a minute each.

use maud::{Markup, html};

/// Width and height of the drawing, in its own units.
const WIDTH: usize = 360;
const HEIGHT: usize = 80;

/// Bars, the oldest first, with the largest written beside them.
pub(super) fn bars(name: &str, label: &str, values: &[f64], unit: &str) -> Markup {
    let most = values.iter().copied().fold(0.0, f64::max);
    let each = WIDTH as f64 / values.len().max(1) as f64;
    let last = values
        .iter()
        .rev()
        .find(|v| **v > 0.0)
        .copied()
        .unwrap_or(0.0);
    let said = format!("{label}: {} {unit}", short(last));
    html! {
        figure.chart data-chart=(name) {
            figcaption { (label) b { (short(last)) " " (unit) } }
            svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label=(said) preserveAspectRatio="none" {
                @for (i, value) in values.iter().enumerate() {
                    @let high = if most > 0.0 { value / most * (HEIGHT as f64 - 2.0) } else { 0.0 };
                    @if high > 0.0 {
                        rect x=(format!("{:.1}", i as f64 * each)) width=(format!("{:.1}", (each - 1.0).max(0.5)))
                            y=(format!("{:.1}", HEIGHT as f64 - high.max(1.0))) height=(format!("{:.1}", high.max(1.0))) {}
                    }
                }
            }
            p.quiet { "60 min · max " (short(most)) " " (unit) }
        }
    }
}

/// A number in few digits.
pub(super) fn short(value: f64) -> String {
    match value {
        v if v >= 1_000_000.0 => format!("{:.1}M", v / 1_000_000.0),
        v if v >= 10_000.0 => format!("{:.1}k", v / 1000.0),
        v if v >= 10.0 || v.fract() == 0.0 => format!("{v:.0}"),
        v => format!("{v:.1}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_bar_fills_the_height() {
        let drawn = bars("calls", "Calls", &[0.0, 5.0, 10.0], "").into_string();
        assert_eq!(drawn.matches("<rect").count(), 2);
        assert!(drawn.contains("height=\"78.0\""), "{drawn}");
        assert!(drawn.contains("height=\"39.0\""), "{drawn}");
    }

    #[test]
    fn numbers_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (2.5, "2.5"),
            (12.34, "12"),
            (9999.0, "9999"),
            (12_300.0, "12.3k"),
            (2e6, "2.0M"),
        ] {
            assert_eq!(short(value), text);
        }
    }
}
