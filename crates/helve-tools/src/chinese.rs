//! What tools say of themselves in Chinese, where an operator wants it so.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use helve_kernel::ToolDef;

const TABLE: &str = include_str!("chinese.txt");

fn table() -> &'static BTreeMap<&'static str, (&'static str, &'static str)> {
    static READ: OnceLock<BTreeMap<&str, (&str, &str)>> = OnceLock::new();
    READ.get_or_init(|| {
        let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
        let cells = lines.filter_map(|line| {
            let mut cells = line.split('|').map(str::trim);
            Some((cells.next()?, (cells.next()?, cells.next()?)))
        });
        cells.collect()
    })
}

/// Gives a tool its Chinese title and description. One that has none stays as it is.
pub fn speak(def: &mut ToolDef) {
    if let Some((title, description)) = table().get(def.name.as_str()) {
        def.title = Some((*title).to_owned());
        def.description = (*description).to_owned();
    }
}

/// The tools that have a Chinese description.
#[cfg(test)]
pub(crate) fn names() -> Vec<&'static str> {
    table().keys().copied().collect()
}
