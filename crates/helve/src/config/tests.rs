//! The configuration, read strictly.

use helve_tools::web::{Manners, Provider};
use serde_json::json;

use super::*;

fn problem(value: &Value) -> String {
    read(value).err().unwrap_or_default()
}

#[test]
fn what_is_unknown_is_refused_with_the_nearest() {
    for (value, wanted) in [
        (
            json!({"tolls": []}),
            "unknown key `tolls`; did you mean `tools`?",
        ),
        (
            json!({"server": {"listn": "x"}}),
            "unknown key `listn`; did you mean `listen`?",
        ),
        (
            json!({"server": {"rate": "many"}}),
            "`server.rate`: invalid type: string \"many\", expected u32",
        ),
        (
            json!({"tools": ["a", 1]}),
            "`tools[1]`: invalid type: integer `1`, expected path string",
        ),
        (
            json!({"approvals": {"ask_for": "soon"}}),
            "`approvals.ask_for` cannot be `soon`; write it like `30m` or `1h`",
        ),
        (
            json!({"changes": {"keep": "forever"}}),
            "`changes.keep` cannot be `forever`; write it like `12h` or `30d`",
        ),
        (
            json!({"changes": {"quota": "10"}}),
            "`changes.quota` cannot be `10`; write it like `500MB` or `10GB`",
        ),
        (
            json!({"changes": {"kept": "1d"}}),
            "unknown key `kept`; did you mean `keep`?",
        ),
        (
            json!({"sandbox": {"require_sandbox": "yes"}}),
            "`sandbox.require_sandbox`: invalid type: string \"yes\", expected a boolean",
        ),
        (
            json!({"network": {"alow": []}}),
            "unknown key `alow`; did you mean `allow`?",
        ),
        (
            json!({"secrets": {"a b": "env:X"}}),
            "`secrets` has a name that is none; use letters, digits and `_`",
        ),
        (
            json!({"secrets": {"a": {"from": "env:X", "host": []}}}),
            "`secrets.a` has a key that is none of `from`, `command` and `hosts`",
        ),
        (
            json!({"secrets": {"a": {"from": "env:X", "hosts": ["https://a.example/"]}}}),
            "`secrets.a` has a host that is none; write `api.example.com` or `127.0.0.1:8080`",
        ),
        (
            json!({"approvals": {"webhook": "ftp://x"}}),
            "`approvals.webhook` must be an address that begins with http:// or https://",
        ),
    ] {
        assert_eq!(problem(&value), wanted, "{value}");
    }
    assert_eq!(problem(&json!({})), "");
}

#[test]
fn what_messages_are_compared_by() {
    let here = match cfg!(feature = "local-model") {
        true => "",
        false => {
            "`chatlog.vectors` is `local`; this build has no local models: build with `--features local-model`"
        }
    };
    for (chatlog, wanted) in [
        (json!({"vectors": "none"}), ""),
        (json!({"vectors": "lsa"}), ""),
        (
            json!({"vectors": "model"}),
            "`chatlog.vectors` is `model`, and `model.embedding` names none",
        ),
        (
            json!({"vectors": "local"}),
            "`chatlog.vectors` is `local`, and `chatlog.local_model` names no folder",
        ),
        (
            json!({"vectors": "local", "local_model": "models/all-MiniLM-L6-v2"}),
            here,
        ),
        (
            json!({"timezone": "Mars/Base"}),
            "`chatlog.timezone`: there is no time zone `Mars/Base`; write it like `Asia/Shanghai`",
        ),
    ] {
        assert_eq!(problem(&json!({"chatlog": chatlog})), wanted, "{chatlog}");
    }
}

#[test]
fn times() {
    let seconds = |text| duration(text).map(|d| d.as_secs());
    assert_eq!(seconds("90s"), Some(90));
    assert_eq!(seconds("30m"), Some(1800));
    assert_eq!(seconds(" 1 h"), Some(3600));
    assert_eq!(seconds("2d"), Some(172_800));
    for bad in [
        "",
        "s",
        "0s",
        "-1s",
        "1.5h",
        "1",
        "1y",
        "99999999999999999999d",
        "1é",
    ] {
        assert_eq!(seconds(bad), None, "{bad}");
    }
}

#[test]
fn sizes() {
    use super::changes::size;
    for (text, wanted) in [
        ("1B", Some(1)),
        ("500MB", Some(500_000_000)),
        (" 10 GB ", Some(10_000_000_000)),
        ("2GiB", Some(2 << 30)),
        ("0GB", None),
        ("", None),
        ("GB", None),
        ("10", None),
        ("-1GB", None),
        ("1.5GB", None),
        ("10gb", None),
        ("99999999999TB", None),
    ] {
        assert_eq!(size(text), wanted, "{text}");
    }
}

#[test]
fn what_was_there_before_is_kept_for_so_long() {
    let keeping = |value: &Value| read(value).unwrap().changes.keeping();
    let default = keeping(&json!({}));
    assert_eq!(default.age, Some(Duration::from_secs(30 * 86_400)));
    assert_eq!(default.bytes, Some(9_000_000_000), "with room for more");
    let said = keeping(&json!({"changes": {"keep": "12h", "quota": "100B"}}));
    assert_eq!(said.age, Some(Duration::from_secs(12 * 3600)));
    assert_eq!(said.bytes, Some(90));
}

#[test]
fn where_secrets_come_from() {
    let one = |value: Value| {
        read(&json!({"secrets": {"a": value}})).map(|c| c.secrets.read().unwrap()["a"].clone())
    };
    let env = Source::Env("X_1".to_owned());
    assert_eq!(
        one(json!("env:X_1")).unwrap(),
        Secret {
            source: env.clone(),
            hosts: None
        }
    );
    let hosts = Some(vec!["a.example".to_owned()]);
    let table = json!({"from": "env:X_1", "hosts": ["a.example"]});
    assert_eq!(one(table).unwrap(), Secret { source: env, hosts });
    let file = one(json!("file:/run/secrets/a:b")).unwrap().source;
    assert_eq!(file, Source::File("/run/secrets/a:b".to_owned()));
    let command = one(json!({"command": ["pass", "a b"]})).unwrap().source;
    assert_eq!(
        command,
        Source::Command(vec!["pass".to_owned(), "a b".to_owned()])
    );
    // A secret that is written out is refused, and not repeated.
    for bad in [
        json!("ghp_s3cr3t"),
        json!("Bearer: s3cr3t"),
        json!("env:"),
        json!("env:s3cr3t value"),
        json!(3),
        json!({"from": "s3cr3t"}),
        json!({"hosts": ["a.example"]}),
        json!({"from": "env:X", "command": ["x"]}),
        json!({"command": []}),
        json!({"command": "pass s3cr3t"}),
    ] {
        let problem = one(bad.clone()).unwrap_err();
        assert!(problem.starts_with("`secrets.a` must"), "{bad}: {problem}");
        assert!(!problem.contains("s3cr3t"), "{problem}");
    }
}

#[test]
fn what_may_be_reached() {
    assert_eq!(
        problem(
            &json!({"network": {"allow": ["127.0.0.1:8080", "10.0.0.0/8", "internal.example"]}})
        ),
        ""
    );
    let said = problem(&json!({"network": {"allow": ["*"]}}));
    assert!(
        said.starts_with("`network.allow`: `*` is no grant"),
        "{said}"
    );
}

#[test]
fn how_the_web_is_read() {
    let whole = json!({"web": {"search": "searxng", "search_url": "http://127.0.0.1:8888", "key": "k",
        "proxy": "http://127.0.0.1:3128", "robots": "obey", "timeout": "10s", "max_bytes": 1000, "user_agent": "Me/1"}});
    let settings = read(&whole).unwrap().web.settings();
    assert_eq!(
        settings.search_url.map(|url| url.to_string()).as_deref(),
        Some("http://127.0.0.1:8888/")
    );
    assert_eq!(
        settings.proxy.map(|url| url.to_string()).as_deref(),
        Some("http://127.0.0.1:3128/")
    );
    assert_eq!(
        (settings.search, settings.key.as_deref(), settings.robots),
        (Some(Provider::Searxng), Some("k"), Manners::Obey)
    );
    assert_eq!(
        (
            settings.timeout,
            settings.max_bytes,
            settings.user_agent.as_deref()
        ),
        (Duration::from_secs(10), 1000, Some("Me/1"))
    );
    for (web, wanted) in [
        (
            json!({"serch": "tavily"}),
            "unknown key `serch`; did you mean `search`?",
        ),
        (
            json!({"search": "google"}),
            "`web.search`: unknown variant `google`",
        ),
        (
            json!({"search": "searxng"}),
            "`web.search` is `searxng`, which needs `search_url`",
        ),
        (
            json!({"search_url": "nowhere"}),
            "`web.search_url` is no address",
        ),
        (
            json!({"proxy": "socks5://127.0.0.1:1"}),
            "`web.proxy` must be an address that begins with",
        ),
        (
            json!({"proxy": "http://ann:s3cr3t@a.example"}),
            "`web.proxy` has a user or a password in it",
        ),
        (
            json!({"robots": "maybe"}),
            "`web.robots`: unknown variant `maybe`",
        ),
        (json!({"timeout": "1h"}), "`web.timeout` cannot be `1h`"),
        (json!({"max_bytes": 0}), "`web.max_bytes` cannot be 0"),
        (
            json!({"user_agent": "a\nb"}),
            "`web.user_agent` is nothing that can be sent",
        ),
    ] {
        let said = problem(&json!({"web": web}));
        assert!(said.starts_with(wanted), "{web}: {said}");
        assert!(!said.contains("s3cr3t"), "{said}");
    }
}

/// What the user says of a secret holds as a whole: a workspace cannot widen it.
#[test]
fn a_workspace_does_not_widen_what_the_user_keeps() {
    let mut all = Secrets::default();
    let users = json!({"key": {"from": "env:KEY", "hosts": ["api.example.com"]}});
    let workspaces = json!({"key": {"hosts": ["evil.example"]}, "own": "env:OWN"});
    for file in [users.clone(), workspaces] {
        let file: Secrets = serde_json::from_value(file).unwrap();
        all.add(file);
    }
    assert_eq!(json!(all.0), json!({"key": users["key"], "own": "env:OWN"}));
}

#[test]
fn an_empty_list_of_approvers_is_nobody() {
    let rules = |value: &Value| read(value).unwrap().approval_rules().approvers;
    assert_eq!(rules(&json!({})), None);
    assert_eq!(
        rules(&json!({"approvals": {"approvers": []}})),
        Some(vec![])
    );
}

#[test]
fn the_workspace_goes_over_the_user() {
    let mut value = json!({"server": {"rate": 1, "burst": 2}, "tools": ["a"]});
    merge(&mut value, json!({"server": {"rate": 3}, "tools": ["b"]}));
    assert_eq!(
        value,
        json!({"server": {"rate": 3, "burst": 2}, "tools": ["b"]})
    );
}

/// What a user requires no workspace takes back, and what a workspace requires holds too.
#[test]
fn either_file_can_require() {
    let required = "[record]\nsync_ends = true\n[sandbox]\nrequire_sandbox = true\n";
    let not = "[record]\nsync_ends = false\n[sandbox]\nrequire_sandbox = false\n";
    for (users, workspace, wanted) in [
        ("", "", false),
        (not, not, false),
        (required, "", true),
        (required, not, true),
        ("", required, true),
        (not, required, true),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        std::fs::write(&file, users).unwrap();
        std::fs::write(folder.path().join("helve.toml"), workspace).unwrap();
        let config = Config::of_files(Some(&file), folder.path()).unwrap();
        let found = (config.record.sync_ends, config.sandbox.require_sandbox);
        assert_eq!(found, (wanted, wanted), "{users}{workspace}");
    }
}

/// Editors complete and check `helve.toml` with this file.
#[test]
fn the_schema_is_checked_in() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/helve.schema.json");
    let wanted = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    #[expect(
        clippy::disallowed_methods,
        reason = "a switch of the test, not of the program"
    )]
    if std::env::var_os("HELVE_BLESS").is_some() {
        std::fs::write(path, &wanted).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(found, wanted, "run the tests with HELVE_BLESS=1");
}
