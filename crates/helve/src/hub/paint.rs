//! The colours of code on pages, by the grammars of the built-in tools.

use std::ops::Range;

use helve_server::{Colour, Painter};
use helve_tools::paint::{Paint, paint};

/// The grammars.
pub(crate) struct Grammars;

impl Painter for Grammars {
    fn paint(&self, path: &str, text: &str) -> Vec<(Range<usize>, Colour)> {
        let pieces = paint(path, text).into_iter();
        pieces
            .map(|(range, paint)| (range, colour(paint)))
            .collect()
    }
}

fn colour(paint: Paint) -> Colour {
    match paint {
        Paint::Comment => Colour::Comment,
        Paint::String => Colour::String,
        Paint::Number => Colour::Number,
        Paint::Keyword => Colour::Keyword,
        Paint::Type => Colour::Type,
        Paint::Function => Colour::Function,
        Paint::Constant => Colour::Constant,
        Paint::Property => Colour::Property,
    }
}
