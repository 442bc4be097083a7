//! The resources.

use rmcp::ErrorData;
use rmcp::model::*;
use serde_json::json;

use crate::catalog::{Answer, PIXEL};

/// Reads one.
pub(crate) fn read(uri: &str) -> Answer<ReadResourceResponse> {
    let contents = match uri {
        "test://static-text" => {
            let text = "This is the content of the static text resource.";
            ResourceContents::text(text, uri).with_mime_type("text/plain")
        }
        "test://static-binary" => ResourceContents::blob(PIXEL, uri).with_mime_type("image/png"),
        "test://watched-resource" => {
            ResourceContents::text("Watched.", uri).with_mime_type("text/plain")
        }
        _ => {
            let id = uri
                .strip_prefix("test://template/")
                .and_then(|rest| rest.strip_suffix("/data"));
            let Some(id) = id else {
                let data = json!({"uri": uri});
                return Err(ErrorData::resource_not_found(
                    "Resource not found",
                    Some(data),
                ));
            };
            let text =
                json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
            ResourceContents::text(text.to_string(), uri).with_mime_type("application/json")
        }
    };
    Ok(ReadResourceResult::new(vec![contents]).into())
}
