//! Pages of lists.

use rmcp::ErrorData;
use serde_json::{Map, Value};

/// What every cursor of ours begins with.
const MARK: &str = "after:";

/// One page of a list that is sorted by what `key` says, and where the next one begins.
/// What comes or goes between two pages shifts nothing: a page begins after a name.
pub(crate) fn page(
    name: &str,
    items: Vec<Value>,
    cursor: Option<&str>,
    most: usize,
    key: impl Fn(&Value) -> String,
) -> Result<Map<String, Value>, ErrorData> {
    let after = match cursor {
        None => None,
        Some(cursor) => Some(cursor.strip_prefix(MARK).ok_or_else(|| {
            ErrorData::invalid_params("the cursor is not one of this server", None)
        })?),
    };
    let mut rest: Vec<Value> = match after {
        None => items,
        Some(after) => items
            .into_iter()
            .filter(|item| key(item).as_str() > after)
            .collect(),
    };
    let mut result = Map::new();
    let more = rest.len() > most;
    rest.truncate(most);
    let last = rest.last().map(key);
    result.insert(name.to_owned(), Value::Array(rest));
    if let Some(last) = last.filter(|_| more) {
        result.insert("nextCursor".to_owned(), format!("{MARK}{last}").into());
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::page;

    fn name(item: &Value) -> String {
        item["name"].as_str().unwrap_or_default().to_owned()
    }

    #[test]
    fn pages_follow_each_other_though_the_list_changes() {
        let list = |names: &[&str]| names.iter().map(|n| json!({"name": n})).collect::<Vec<_>>();
        let first = page("tools", list(&["a", "b", "c", "d"]), None, 2, name).unwrap();
        assert_eq!(first["tools"], json!([{"name": "a"}, {"name": "b"}]));
        let cursor = first["nextCursor"].as_str().unwrap();
        let second = page("tools", list(&["a", "c", "d"]), Some(cursor), 2, name).unwrap();
        assert_eq!(second["tools"], json!([{"name": "c"}, {"name": "d"}]));
        assert_eq!(second.get("nextCursor"), None);
    }

    #[test]
    fn a_foreign_cursor_is_refused() {
        assert!(page("tools", Vec::new(), Some("2"), 2, name).is_err());
    }
}
