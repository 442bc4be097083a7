//! Pages of lists.

use rmcp::ErrorData;
use serde_json::{Map, Value};

/// What every cursor of ours begins with.
const MARK: &str = "after:";

/// One page of a list that is sorted by the places of its items, and where the next one
/// begins. What comes or goes between two pages shifts nothing: a page begins after a place.
pub(crate) fn page(
    name: &str,
    items: Vec<(String, Value)>,
    cursor: Option<&str>,
    most: usize,
) -> Result<Map<String, Value>, ErrorData> {
    let after = match cursor {
        None => None,
        Some(cursor) => Some(cursor.strip_prefix(MARK).ok_or_else(|| {
            ErrorData::invalid_params("the cursor is not one of this server", None)
        })?),
    };
    let mut rest = items;
    if let Some(after) = after {
        rest.retain(|(place, _)| place.as_str() > after);
    }
    // A page of nothing would be the last one.
    let most = most.max(1);
    let mut result = Map::new();
    let more = rest.len() > most;
    rest.truncate(most);
    if let Some((last, _)) = rest.last().filter(|_| more) {
        result.insert("nextCursor".to_owned(), format!("{MARK}{last}").into());
    }
    let rest = rest.into_iter().map(|(_, item)| item).collect();
    result.insert(name.to_owned(), rest);
    Ok(result)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::page;

    fn list(names: &[&str]) -> Vec<(String, Value)> {
        let named = |n: &&str| ((*n).to_owned(), json!({"name": n}));
        names.iter().map(named).collect()
    }

    #[test]
    fn pages_follow_each_other_though_the_list_changes() {
        let first = page("tools", list(&["a", "b", "c", "d"]), None, 2).unwrap();
        assert_eq!(first["tools"], json!([{"name": "a"}, {"name": "b"}]));
        let cursor = first["nextCursor"].as_str().unwrap();
        let second = page("tools", list(&["a", "c", "d"]), Some(cursor), 2).unwrap();
        assert_eq!(second["tools"], json!([{"name": "c"}, {"name": "d"}]));
        assert_eq!(second.get("nextCursor"), None);
    }

    #[test]
    fn a_foreign_cursor_is_refused() {
        assert!(page("tools", Vec::new(), Some("2"), 2).is_err());
    }
}
