//! Messages by who said them, where and when, whatever they say.

use roaring::RoaringBitmap;

use super::keywords::{self, Page};
use super::view::View;
use super::{ArchiveError, Cursor, Filter, Hits, Order};

/// A page of them.
pub(super) fn page(
    view: &View,
    filter: &Filter,
    order: Order,
    limit: usize,
    after: Option<Cursor>,
) -> Result<Hits, ArchiveError> {
    let sieve = view.sieve(filter);
    let total: RoaringBitmap = match sieve.is_open() {
        true => view.visible.clone(),
        false => {
            let lets = |line: &u32| sieve.lets(view, *line);
            view.visible.iter().filter(lets).collect()
        }
    };
    let search = keywords::fingerprint(&"", filter, order);
    let page = Page::by_time(order, limit, after, search);
    keywords::page(view, &total, &page)
}
