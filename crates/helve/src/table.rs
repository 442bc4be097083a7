//! Rows in columns, for people. Programs are given JSON.

use anstyle::Style;

use crate::out;

/// What stands in one place of a table.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    pub(crate) fn styled(style: Style, text: impl AsRef<str>) -> Self {
        let text = out::visible(text.as_ref());
        Self { text, style }
    }
}

impl<T: AsRef<str>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::styled(Style::new(), text)
    }
}

enum Row {
    Title(Cell),
    Cells(Vec<Cell>),
}

/// Rows in columns.
pub(crate) struct Table {
    rows: Vec<Row>,
}

/// The least that is left of a last column.
const LEAST: usize = 12;

impl Table {
    /// A table with these words above its columns.
    pub(crate) fn new(head: &[&str]) -> Self {
        let head = head.iter().map(|word| Cell::styled(out::DIM, word));
        let rows = vec![Row::Cells(head.collect())];
        Self { rows }
    }

    /// A table without words above.
    pub(crate) fn plain() -> Self {
        Self { rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(Row::Cells(cells.into_iter().collect()));
    }

    /// A line of its own above the rows that follow.
    pub(crate) fn title(&mut self, text: &str) {
        self.rows.push(Row::Title(Cell::styled(out::STRONG, text)));
    }

    /// The text; on a terminal, no line is longer than it is wide.
    pub(crate) fn text(&self) -> String {
        self.within(out::width())
    }

    /// The text, with nothing left out however long it is.
    pub(crate) fn whole(&self) -> String {
        self.within(None)
    }

    fn within(&self, width: Option<usize>) -> String {
        let rows = || {
            self.rows.iter().filter_map(|row| match row {
                Row::Cells(cells) => Some(cells),
                Row::Title(_) => None,
            })
        };
        let columns = rows().map(Vec::len).max().unwrap_or(0);
        let widest = |column: usize| {
            let cells = rows().filter_map(|cells| cells.get(column));
            cells.map(|c| c.text.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(widest).collect();
        let before: usize = widths.iter().take(columns.saturating_sub(1)).sum();
        let gaps = 2 * columns.saturating_sub(1);
        let room = width.map(|w| w.saturating_sub(before + gaps).max(LEAST));
        let mut text = String::new();
        for row in &self.rows {
            match row {
                Row::Title(cell) => text.push_str(&out::styled(cell.style, &cell.text)),
                Row::Cells(cells) => line(&mut text, cells, &widths, room),
            }
            text.push('\n');
        }
        text
    }
}

fn line(text: &mut String, cells: &[Cell], widths: &[usize], room: Option<usize>) {
    let filled = cells.iter().rposition(|c| !c.text.is_empty());
    let cells = &cells[..filled.map_or(0, |last| last + 1)];
    for (i, cell) in cells.iter().enumerate() {
        let last = i + 1 == cells.len();
        let shown = match room.filter(|_| i + 1 == widths.len()) {
            Some(room) => clipped(&cell.text, room),
            None => cell.text.clone(),
        };
        let pad = match last {
            true => 0,
            false => widths[i] + 2 - shown.chars().count(),
        };
        match shown.is_empty() {
            true => {}
            false => text.push_str(&out::styled(cell.style, &shown)),
        }
        text.extend(std::iter::repeat_n(' ', pad));
    }
}

/// The beginning of a text that is too long.
pub(crate) fn clipped(text: &str, room: usize) -> String {
    match text.chars().count() > room {
        true => text
            .chars()
            .take(room.saturating_sub(1))
            .chain(['…'])
            .collect(),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_below_each_other_and_end_at_the_edge() {
        let mut table = Table::new(&["id", "tool", "arguments"]);
        table.title("file");
        table.row(["a".into(), "file_read".into(), "x\u{1b}".repeat(8).into()]);
        table.row(["b".into(), "f".into()]);
        let text = anstream::adapter::strip_str(&table.within(Some(36))).to_string();
        assert_eq!(
            text,
            "id  tool       arguments\nfile\na   file_read  x\\u{1b}x\\u{1b}x\\u{1b…\nb   f\n"
        );
    }
}
