//! The OpenAPI description as a page: plain, without a script, in both colours.

use std::fmt::Write as _;

use serde_json::Value;

/// The page.
pub(crate) fn docs(document: &Value) -> String {
    let mut body = String::new();
    let empty = serde_json::Map::new();
    let object = |value: &'_ Value| value.as_object().cloned().unwrap_or_default();
    let paths = document["paths"].as_object().unwrap_or(&empty);
    for (path, operations) in paths {
        for (method, operation) in object(operations) {
            let id = text(&operation["operationId"]);
            let _ = write!(
                body,
                "<details id=\"{id}\"><summary><b class=\"{method}\">{}</b> <code>{}</code> <span>{}</span></summary>",
                method.to_uppercase(),
                escaped(path),
                escaped(&text(&operation["summary"])),
            );
            if let Some(needs) = operation["description"].as_str() {
                let _ = write!(body, "<p>{}</p>", escaped(needs));
            }
            parameters(&mut body, &operation);
            if let Some(schema) = operation.pointer("/requestBody/content/application~1json/schema")
            {
                let _ = write!(body, "<h4>Body</h4>{}", link(schema));
            }
            body.push_str("<h4>Answers</h4><ul>");
            for (status, answer) in object(&operation["responses"]) {
                let content = object(&answer["content"]);
                let shape = content
                    .values()
                    .next()
                    .map(|c| link(&c["schema"]))
                    .unwrap_or_default();
                let says = escaped(&text(&answer["description"]));
                let _ = write!(body, "<li><code>{status}</code> {says} {shape}</li>");
            }
            body.push_str("</ul></details>");
        }
    }
    body.push_str("<h2>Shapes</h2>");
    for (name, schema) in object(&document["components"]["schemas"]) {
        let shown = serde_json::to_string_pretty(&schema).unwrap_or_default();
        let _ = write!(
            body,
            "<details id=\"schema-{name}\"><summary><code>{name}</code></summary><pre>{}</pre></details>",
            escaped(&shown)
        );
    }
    let version = escaped(&text(&document["info"]["version"]));
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>Helve API</title><style>{STYLE}</style></head><body>\
         <h1>Helve <small>{version}</small></h1><p>Every call is checked, decided by policy, and \
         recorded before it runs. Send <code>Authorization: Bearer &lt;token&gt;</code>. The same as \
         a document: <a href=\"/openapi.json\">openapi.json</a>.</p>{body}</body></html>"
    )
}

const STYLE: &str = "\
:root{color-scheme:light dark}\
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}\
small{font-weight:normal;opacity:.6}\
details{border:1px solid color-mix(in srgb,currentColor 20%,transparent);border-radius:6px;margin:.4rem 0;padding:.3rem .8rem}\
summary{cursor:pointer}summary span{opacity:.75}\
b{display:inline-block;min-width:4.2rem;font-size:.8rem}\
.get{color:#1a7f5a}.post{color:#2563c9}.put,.patch{color:#b06a00}.delete{color:#c0392b}\
pre{overflow:auto;font-size:.85rem}h4{margin:.6rem 0 .2rem}ul{margin:.2rem 0}";

fn parameters(body: &mut String, operation: &Value) {
    let Some(all) = operation["parameters"].as_array().filter(|p| !p.is_empty()) else {
        return;
    };
    body.push_str("<h4>Parameters</h4><ul>");
    for parameter in all {
        let _ = write!(
            body,
            "<li><code>{}</code> ({}) {}</li>",
            escaped(&text(&parameter["name"])),
            escaped(&text(&parameter["in"])),
            escaped(&text(&parameter["description"])),
        );
    }
    body.push_str("</ul>");
}

fn link(schema: &Value) -> String {
    let name = schema["$ref"].as_str().and_then(|r| r.rsplit('/').next());
    name.map(|n| format!("<a href=\"#schema-{n}\">{n}</a>"))
        .unwrap_or_default()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
