//! What is passed on to servers elsewhere beside calls of tools: resources, prompts,
//! completions.

use helve_core::policy::Pattern;
use helve_kernel::store::Record;
use helve_kernel::{Caller as _, Permission, Principal};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value, json};
use tokio_util::task::AbortOnDropHandle;

use crate::upstream::{List, Upstreams};

use super::client::not_here;
use super::talk::{Done, Talk};
use super::views::Names;
use super::{Front, Session};

impl Session {
    fn elsewhere(&self, method: &str) -> Result<Upstreams, ErrorData> {
        let elsewhere = self.front.elsewhere().cloned();
        elsewhere.ok_or_else(|| not_here(method))
    }

    /// Whether somebody may have anything of a server: where they reach any name that its
    /// tools could have, and the view does.
    fn reaches(&self, who: &Principal, server: &str) -> bool {
        let within = |patterns: &[Pattern]| patterns.iter().any(|p| covers(p, server));
        who.may(Permission::ToolRead) && within(&who.scopes) && within(&self.view().tools)
    }

    /// A list of all servers, each item under the name by which it is asked for here.
    pub(crate) async fn elsewhere_list(
        &self,
        what: List,
        who: &Principal,
    ) -> Result<Vec<Value>, ErrorData> {
        let lists = self.elsewhere("list")?.list(what).await;
        let mut items = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for (server, list) in lists {
            if !self.reaches(who, &server) {
                continue;
            }
            for mut item in list {
                let key = match what {
                    List::Prompts => {
                        let Some(name) = item["name"].as_str() else {
                            continue;
                        };
                        let shown = self.prompt_name(&server, name);
                        item["name"] = shown.as_str().into();
                        shown
                    }
                    List::Resources => text(&item, "uri"),
                    List::Templates => text(&item, "uriTemplate"),
                };
                // The first stays.
                if !key.is_empty() && seen.insert(key) {
                    items.push(item);
                }
            }
        }
        items.sort_by_key(|item| key_of(what, item));
        Ok(items)
    }

    fn prompt_name(&self, server: &str, name: &str) -> String {
        match self.view().names {
            Names::Plain => name.to_owned(),
            Names::Mcp => format!("mcp__{server}__{name}"),
            Names::Helve | Names::Internal => format!("{server}_{name}"),
        }
    }

    /// The server that has a prompt, and its own name for it.
    pub(crate) async fn prompt(
        &self,
        shown: &str,
        who: &Principal,
    ) -> Result<(String, String), ErrorData> {
        let lists = self.elsewhere("prompts/get")?.list(List::Prompts).await;
        for (server, list) in lists {
            let mut names = list.iter().filter_map(|p| p["name"].as_str());
            let found = names.find(|name| self.prompt_name(&server, name) == shown);
            if let Some(name) = found.filter(|_| self.reaches(who, &server)) {
                return Ok((server.clone(), name.to_owned()));
            }
        }
        let message = format!("there is no prompt named `{}`", shown.escape_debug());
        Err(ErrorData::invalid_params(message, None))
    }

    /// The server that has a resource: the one that lists it, then one with a template for
    /// it, then the only one that there is.
    pub(crate) async fn resource(&self, uri: &str, who: &Principal) -> Result<String, ErrorData> {
        let elsewhere = self.elsewhere("resources/read")?;
        for what in [List::Resources, List::Templates] {
            for (server, list) in elsewhere.list(what).await {
                let has = list.iter().any(|item| match what {
                    List::Templates => fits(&text(item, "uriTemplate"), uri),
                    _ => text(item, "uri") == uri,
                });
                if has && self.reaches(who, &server) {
                    return Ok(server);
                }
            }
        }
        let mut servers = elsewhere.names();
        servers.retain(|server| self.reaches(who, server));
        match servers.as_slice() {
            [only] => Ok(only.clone()),
            _ => Err(ErrorData::resource_not_found(
                format!("no server has the resource `{}`", uri.escape_debug()),
                Some(json!({"uri": uri})),
            )),
        }
    }

    /// Asks a server, as part of the conversation with the client.
    pub(crate) async fn pass_on(
        &self,
        server: String,
        method: &'static str,
        mut params: Map<String, Value>,
        state: Option<String>,
        answers: Map<String, Value>,
        ctx: &RequestContext<RoleServer>,
    ) -> Result<Map<String, Value>, ErrorData> {
        let who = self.who(ctx)?;
        who.require(Permission::ToolExecute)
            .map_err(|e| ErrorData::invalid_request(e.message, None))?;
        let asked = json!({"method": method, "server": server, "params": params});
        if let Some(handle) = state {
            return self.take_up(&handle, &asked, &answers, &who, ctx).await;
        }
        self.front.note(&who, method, &server, &params).await?;
        let elsewhere = self.elsewhere(method)?;
        let talk = Talk::new(self.from(ctx, &who), asked, |voice| {
            if let Some(meta) = voice.extras().get("_meta") {
                params.insert("_meta".to_owned(), meta.clone());
            }
            Box::pin(async move {
                // A task of its own: it goes on while the client is asked, or asks for it
                // now and then, and ends with the talk.
                let passing = AbortOnDropHandle::new(tokio::spawn(async move {
                    let params = Value::Object(params);
                    elsewhere
                        .request(&server, method, params, Some(voice))
                        .await
                }));
                let crashed = |_| {
                    let mut error = Map::new();
                    error.insert("code".to_owned(), (-32603).into());
                    let why = "the request crashed on its way";
                    error.insert("message".to_owned(), why.into());
                    Err(error)
                };
                Done::Passed(passing.await.unwrap_or_else(crashed))
            })
        });
        let outcome = self.drive(talk, None, &who, ctx).await?;
        self.outcome(outcome, &who)
    }
}

impl Front {
    /// Law three holds for what is no tool as well: no record, no request.
    async fn note(
        &self,
        who: &Principal,
        method: &str,
        server: &str,
        params: &Map<String, Value>,
    ) -> Result<(), ErrorData> {
        let subject = ["uri", "name"]
            .iter()
            .find_map(|k| params.get(*k)?.as_str());
        let at = self.kernel().now();
        let record = Record::new(at, "mcp.passed_on", &who.owner, subject.unwrap_or(method))
            .with("method", method)
            .with("server", server)
            .with(
                "token",
                who.token.as_ref().map(helve_kernel::TokenId::as_str),
            );
        let recorded = self.kernel().store().record(record).await;
        recorded.map_err(|e| {
            let message = format!("not passed on: the record could not be written: {e}");
            ErrorData::internal_error(message, None)
        })
    }
}

fn text(item: &Value, key: &str) -> String {
    item[key].as_str().unwrap_or_default().to_owned()
}

/// What a list is sorted by.
pub(crate) fn key_of(what: List, item: &Value) -> String {
    match what {
        List::Prompts => text(item, "name"),
        List::Resources => text(item, "uri"),
        List::Templates => text(item, "uriTemplate"),
    }
}

/// Whether a pattern of tools could mean one of a server's.
fn covers(pattern: &Pattern, server: &str) -> bool {
    let head = pattern
        .as_str()
        .split(['*', '?'])
        .next()
        .unwrap_or_default();
    let server = format!("{server}_");
    server.starts_with(head) || head.starts_with(&server)
}

/// Whether an address could come of a template: its fixed parts, in order.
fn fits(template: &str, uri: &str) -> bool {
    let mut rest = uri;
    let mut first = true;
    let mut pieces = template.split('{');
    let head = pieces.next().unwrap_or_default();
    let Some(after) = rest.strip_prefix(head) else {
        return false;
    };
    rest = after;
    for piece in pieces {
        first = false;
        let fixed = piece.split_once('}').map_or("", |(_, fixed)| fixed);
        match rest.find(fixed) {
            Some(at) => rest = &rest[at + fixed.len()..],
            None => return false,
        }
    }
    !first || rest.is_empty()
}

#[cfg(test)]
mod tests {
    use helve_core::policy::Pattern;

    use super::{covers, fits};

    #[test]
    fn templates_are_told_by_their_fixed_parts() {
        assert!(fits("test://template/{id}/data", "test://template/7/data"));
        assert!(!fits(
            "test://template/{id}/data",
            "test://template/7/other"
        ));
        assert!(!fits(
            "test://template/{id}/data",
            "other://template/7/data"
        ));
        assert!(fits("file:///{path}", "file:///a/b"));
        assert!(fits("a://b", "a://b"));
        assert!(!fits("a://b", "a://bc"));
    }

    #[test]
    fn who_reaches_a_tool_of_a_server_reaches_the_server() {
        for (pattern, reaches) in [
            ("*", true),
            ("git_*", true),
            ("git_status", true),
            ("g*", true),
            ("gitlab_*", false),
            ("file_*", false),
        ] {
            assert_eq!(covers(&Pattern::new(pattern), "git"), reaches, "{pattern}");
        }
    }
}
