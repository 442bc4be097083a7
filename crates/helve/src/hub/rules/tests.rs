//! What is remembered, by whom, and what holds after.

use std::fs;

use helve_core::policy::{Call, Effect};
use helve_core::read::{Syntax, read};
use helve_kernel::store::AuditFilter;
use serde_json::json;
use tempfile::TempDir;

use super::*;

#[test]
fn what_is_written_is_read_as_it_was() {
    for rule in [
        json!({"effect": "allow", "tool": "file_write", "principal": "agent:a", "reason": "ok"}),
        json!({"effect": "allow", "tool": "t", "args": {"path": "a \"b\"\\c\u{7f}\n\u{1}é", "x y": "1"}}),
        json!({"effect": "ask", "risk": ["write", "exec_high"], "approvals": 2}),
    ] {
        let text = written(rule.as_object().unwrap());
        let node = read(&text, Syntax::Toml).unwrap_or_else(|e| panic!("{text}\n{e}"));
        assert_eq!(node.to_value(), json!({"policy": [rule]}), "{text}");
    }
}

struct Bench {
    folder: TempDir,
    kernel: Kernel,
    rules: Remembered,
}

impl Bench {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        State::create(folder.path()).unwrap();
        let kernel = Kernel::builder().root(folder.path()).open().await.unwrap();
        let rules = Remembered::new(kernel.clone(), folder.path().to_owned());
        Self {
            folder,
            kernel,
            rules,
        }
    }

    fn file(&self) -> PathBuf {
        State::of(self.folder.path()).rules()
    }

    fn text(&self) -> String {
        fs::read_to_string(self.file()).unwrap_or_default()
    }

    /// What is decided now, and what would be after a restart.
    fn decided(&self, tool: &str) -> [Effect; 2] {
        let now = self.kernel.policy();
        let later = Config::load(self.folder.path()).unwrap().policy().unwrap();
        [&*now, &later].map(|policy| {
            let call = Call {
                tool,
                risk: None,
                principal: "agent:bot",
                args: &Map::new(),
            };
            policy.decide(&call).effect
        })
    }

    /// Who changed the rules, on record.
    async fn changed_by(&self) -> Vec<String> {
        let filter = AuditFilter {
            event: Some("policy.changed".to_owned()),
            ..AuditFilter::default()
        };
        let entries = self.kernel.store().audit(filter, 99).await.unwrap();
        let by = entries.iter().map(|e| e.record["actor"].as_str().unwrap());
        by.map(str::to_owned).collect()
    }
}

fn allow(tool: &str) -> Value {
    json!({"effect": "allow", "tool": tool, "principal": "agent:bot"})
}

#[tokio::test]
async fn a_rule_counts_at_once_and_after_a_restart() {
    let bench = Bench::new().await;
    assert_ne!(bench.decided("mail_send"), [Effect::Allow; 2]);
    let ann = Principal::person("user:ann");
    bench
        .rules
        .remember(&ann, &allow("mail_send"))
        .await
        .unwrap();
    assert_eq!(bench.decided("mail_send"), [Effect::Allow; 2]);
    assert_eq!(bench.changed_by().await, ["user:ann"]);
    let text = bench.text();
    assert!(text.starts_with(HEAD), "{text}");
    assert!(text.contains("\n# user:ann, 20"), "{text}");

    // The same once more changes nothing; another stands beside it.
    bench
        .rules
        .remember(&ann, &allow("mail_send"))
        .await
        .unwrap();
    assert_eq!(bench.text(), text);
    bench
        .rules
        .remember(&ann, &allow("mail_open"))
        .await
        .unwrap();
    assert_eq!(bench.decided("mail_send"), [Effect::Allow; 2]);
    assert_eq!(bench.decided("mail_open"), [Effect::Allow; 2]);
    assert_eq!(bench.changed_by().await.len(), 2);
}

#[tokio::test]
async fn a_stricter_rule_of_the_configuration_still_wins() {
    let bench = Bench::new().await;
    let toml = "[[policy]]\neffect = \"deny\"\ntool = \"mail_*\"\n";
    fs::write(bench.folder.path().join("helve.toml"), toml).unwrap();
    let ann = Principal::person("user:ann");
    bench
        .rules
        .remember(&ann, &allow("mail_send"))
        .await
        .unwrap();
    assert_eq!(bench.decided("mail_send"), [Effect::Deny; 2]);
}

#[tokio::test]
async fn only_people_with_both_rights_write_one() {
    let bench = Bench::new().await;
    let all = Permission::ALL.to_vec();
    let without = |right| {
        let left = Permission::ALL.into_iter().filter(|p| *p != right);
        Principal {
            permissions: left.collect(),
            ..Principal::person("user:eve")
        }
    };
    for who in [
        Principal::agent("agent:bot"),
        // However much an agent may do.
        Principal {
            permissions: all,
            ..Principal::agent("agent:bot")
        },
        without(Permission::ApprovalDecide),
        without(Permission::ToolRegister),
    ] {
        let refused = bench.rules.remember(&who, &allow("mail_send")).await;
        let refused = refused.unwrap_err();
        assert_eq!(refused.kind, helve_kernel::ErrorKind::Permission, "{who:?}");
    }
    assert_eq!(bench.text(), "");
    assert_eq!(bench.changed_by().await, [""; 0]);
}

#[tokio::test]
async fn what_is_wrong_leaves_everything_as_it_was() {
    let bench = Bench::new().await;
    let ann = Principal::person("user:ann");
    for rule in [
        json!(null),
        json!([]),
        json!({}),
        json!({"effect": "alow", "tool": "mail_send"}),
        json!({"effect": "allow", "tool": "mail_send", "unknown": 1}),
    ] {
        assert!(bench.rules.shown(&rule).is_err(), "{rule}");
        assert!(bench.rules.remember(&ann, &rule).await.is_err(), "{rule}");
        assert_eq!(bench.text(), "", "{rule}");
    }
    // A file that somebody broke is not written over.
    for broken in ["[[policy]]\neffect = \"alow\"\n", "[server]\n", "x = \n"] {
        fs::write(bench.file(), broken).unwrap();
        let refused = bench.rules.remember(&ann, &allow("mail_send")).await;
        assert!(refused.is_err(), "{broken}");
        assert_eq!(bench.text(), broken);
        assert!(Config::load(bench.folder.path()).is_err(), "{broken}");
    }
    assert_eq!(bench.changed_by().await, [""; 0]);
    // A name does not get out of its comment.
    fs::remove_file(bench.file()).unwrap();
    let odd = Principal::person("user:x\n[server]\n#");
    bench
        .rules
        .remember(&odd, &allow("mail_send"))
        .await
        .unwrap();
    assert_eq!(bench.decided("mail_send"), [Effect::Allow; 2]);
}
