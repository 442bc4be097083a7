//! Scripts from their files to their replies, by real interpreters.

#![allow(clippy::unwrap_used, clippy::needless_pass_by_value)]

mod asking;
mod describing;
mod misbehaving;
mod writing;

use std::fs;

use helve_core::def::ExecutorKind;
use helve_core::policy::Policy;
use helve_kernel::store::RunFilter;
use helve_kernel::{
    Answer, Call as KernelCall, ErrorKind, Keeper, Principal, Registration, RunState,
};
use tempfile::TempDir;

use super::*;

/// A workspace with scripts.
struct Rig {
    folder: TempDir,
    executor: ScriptExecutor,
    kernel: Kernel,
}

impl Rig {
    async fn new() -> Self {
        Self::with(
            ScriptSettings {
                pool: 2,
                ..ScriptSettings::default()
            },
            json!([]),
        )
        .await
    }

    /// With rules beside the one that lets everything pass.
    async fn with(settings: ScriptSettings, rules: Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for name in ["tools", "data"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        let host = HostExecutor::new(root);
        let executor = ScriptExecutor::new(host, settings);
        let mut policy = rules.as_array().unwrap().clone();
        policy.push(json!({"effect": "allow", "tool": "*"}));
        let keeper = Keeper::open(&root.join(".helve/changes"), None).unwrap();
        let kernel = Kernel::builder()
            .root(root)
            .policy(Policy::from_value(&Value::Array(policy)).unwrap())
            .keeper(Arc::new(keeper))
            .executor(ExecutorKind::Script, Arc::new(executor.clone()));
        let kernel = kernel.open().await.unwrap();
        executor.connect(&kernel);
        Self {
            folder,
            executor,
            kernel,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file.
    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path(name)).ok()
    }

    /// A JavaScript tool with that body of its handler, and what else its definition says.
    async fn js(&self, name: &str, body: &str, more: Value) {
        self.write(
            &format!("tools/{name}.js"),
            &format!(
                "module.exports = {{name: '{name}', description: 'Does it.', \
                 handler: async (args, ctx) => {{ {body} }}}}\n"
            ),
        );
        self.register(name, &format!("{name}.js"), more).await;
    }

    /// The same in Python; `body` is indented by four.
    async fn py(&self, name: &str, body: &str, more: Value) {
        self.write(
            &format!("tools/{name}.py"),
            &format!(
                "import os, sys\nfrom claude_agent_sdk import tool\n\n\
                 @tool('{name}', 'Does it.', {{}})\nasync def {name}(args, ctx):\n{body}\n"
            ),
        );
        self.register(name, &format!("{name}.py"), more).await;
    }

    async fn register(&self, name: &str, file: &str, more: Value) {
        let mut def = json!({
            "name": name,
            "description": "Does it.",
            "input_schema": {"type": "object"},
            "risk": "exec_low",
            "executor": {"type": "script", "path": format!("tools/{file}"), "function": name},
        });
        for (key, value) in more.as_object().unwrap() {
            match (key.as_str(), value) {
                ("executor", Value::Object(settings)) => {
                    let executor = def["executor"].as_object_mut().unwrap();
                    executor.extend(settings.clone());
                }
                _ => def[key] = value.clone(),
            }
        }
        let new = Registration {
            def: ToolDef::from_value(&def).unwrap(),
            source: "api".to_owned(),
            why: None,
            replace: true,
        };
        self.kernel
            .register(&Principal::person("ann"), new)
            .await
            .unwrap();
    }

    async fn call(&self, tool: &str, args: Value) -> Answer {
        let call = KernelCall::new(Principal::person("ann"), tool, args);
        self.kernel.call(call).await
    }

    async fn data(&self, tool: &str, args: Value) -> Value {
        self.call(tool, args).await.result.unwrap()
    }

    async fn error(&self, tool: &str, args: Value) -> ToolError {
        self.call(tool, args).await.result.unwrap_err()
    }

    /// What was logged of a call.
    async fn log(&self, answer: &Answer) -> String {
        let run = answer.meta.run_id.as_ref().unwrap();
        let chunks = self.kernel.store().chunks(run, 0, 1000).await.unwrap();
        let bytes: Vec<u8> = chunks.into_iter().flat_map(|c| c.bytes).collect();
        String::from_utf8(bytes).unwrap()
    }
}

#[tokio::test]
async fn what_handlers_give_back() {
    let rig = Rig::new().await;
    let text = r#"{"type": "text", "text": "hi"}"#;
    let cases = [
        ("'plain'", json!("plain")),
        (
            "({a: [1, 2.5, null, true]})",
            json!({"a": [1, 2.5, null, true]}),
        ),
        ("undefined", Value::Null),
        ("({content: [TEXT]})", json!("hi")),
        ("({content: [TEXT, TEXT]})", json!("hi\nhi")),
        (
            "({content: [TEXT], structuredContent: {n: 1}})",
            json!({"n": 1}),
        ),
        (
            "({ok: true, data: {n: 2}, meta: {source: 'index'}})",
            json!({"n": 2}),
        ),
        // Content of something else.
        ("({content: ['a', 'b']})", json!({"content": ["a", "b"]})),
        (
            "({error: false, message: 'fine'})",
            json!({"error": false, "message": "fine"}),
        ),
    ];
    for (i, (value, wanted)) in cases.into_iter().enumerate() {
        let name = format!("tool_{i}");
        let body = format!("return {}", value.replace("TEXT", text));
        rig.js(&name, &body, json!({})).await;
        assert_eq!(rig.data(&name, json!({})).await, wanted, "{value}");
    }
    rig.js(
        "meant",
        "return {ok: true, data: 1, meta: {source: 'index'}}",
        json!({}),
    )
    .await;
    let answer = rig.call("meant", json!({})).await;
    assert_eq!(answer.meta.about["source"], "index");
    let shown = "return {content: [{type: 'image', data: 'AAAA', mimeType: 'image/png'}, TEXT]}";
    rig.js("shown", &shown.replace("TEXT", text), json!({}))
        .await;
    let answer = rig.call("shown", json!({})).await;
    assert_eq!(answer.result, Ok(json!("hi")));
    assert_eq!(answer.meta.content[0]["type"], "image");
    assert_eq!(answer.meta.content.len(), 1);
}

#[tokio::test]
async fn what_has_a_schema_was_written_as_json() {
    let rig = Rig::new().await;
    let schema = json!({"output_schema": {"type": "object", "required": ["n"]}});
    let body = "return {content: [{type: 'text', text: JSON.stringify({n: 1})}]}";
    rig.js("good", body, schema.clone()).await;
    assert_eq!(rig.data("good", json!({})).await, json!({"n": 1}));
    rig.js("bad", "return {m: 1}", schema).await;
    let error = rig.error("bad", json!({})).await;
    assert!(error.message.contains('n'), "{error:?}");
}

#[tokio::test]
async fn what_handlers_throw() {
    let rig = Rig::new().await;
    let cases = [
        ("throw new Error('too bad')", ErrorKind::Internal, "too bad"),
        (
            "throw new TypeError('no')",
            ErrorKind::Internal,
            "TypeError: no",
        ),
        ("throw 'a string'", ErrorKind::Internal, "a string"),
        (
            "return {ok: false, error: 'not so'}",
            ErrorKind::Internal,
            "not so",
        ),
        (
            "return {ok: false, error: {type: 'not_found', message: 'nowhere', hint: 'look'}}",
            ErrorKind::NotFound,
            "nowhere",
        ),
        (
            "return {error: true, message: 'failed', toolName: 'x'}",
            ErrorKind::Internal,
            "failed",
        ),
        (
            "return {content: [{type: 'text', text: 'it broke'}], isError: true}",
            ErrorKind::Internal,
            "it broke",
        ),
    ];
    for (i, (body, kind, message)) in cases.into_iter().enumerate() {
        let name = format!("tool_{i}");
        rig.js(&name, body, json!({})).await;
        let error = rig.error(&name, json!({})).await;
        assert_eq!(
            (error.kind, error.message.as_str()),
            (kind, message),
            "{body}"
        );
    }
    let error = rig.error("tool_0", json!({})).await;
    // Where it was thrown, for whoever mends it.
    assert!(error.hint.unwrap().contains("tool_0.js"));
}

#[tokio::test]
async fn a_worker_is_used_again_and_what_is_printed_is_no_answer() {
    let rig = Rig::new().await;
    rig.js(
        "count",
        "global.n = (global.n || 0) + 1; console.log('call', global.n); \
         require('fs').writeSync(1, 'raw\\n'); ctx.logger.warn('so %d', global.n); return global.n",
        json!({}),
    )
    .await;
    let body = "    sys.n = getattr(sys, 'n', 0) + 1\n    print('call', sys.n)\n    \
                os.system('echo from a child')\n    return sys.n";
    rig.py("counts", body, json!({})).await;
    for n in 1..4 {
        let answer = rig.call("count", json!({})).await;
        assert_eq!(answer.result, Ok(json!(n)));
        let mut log: Vec<String> = rig.log(&answer).await.lines().map(str::to_owned).collect();
        log.sort();
        assert_eq!(
            log,
            [
                format!("call {n}"),
                "raw".to_owned(),
                format!("warn: so {n}")
            ]
        );
        let answer = rig.call("counts", json!({})).await;
        assert_eq!(answer.result, Ok(json!(n)));
        assert_eq!(rig.log(&answer).await, format!("call {n}\nfrom a child\n"));
    }
}

#[tokio::test]
async fn a_script_that_changed_runs_when_it_is_registered_again() {
    let rig = Rig::new().await;
    rig.js("say", "return require('./words').word", json!({}))
        .await;
    rig.write("tools/words.js", "exports.word = 'one'\n");
    assert_eq!(rig.data("say", json!({})).await, "one");
    // A neighbour: loaded anew.
    rig.write("tools/words.js", "exports.word = 'two'\n");
    assert_eq!(rig.data("say", json!({})).await, "two");
    // The file itself: refused until somebody has looked.
    let text = rig
        .read("tools/say.js")
        .unwrap()
        .replace(".word", ".word + '!'");
    rig.write("tools/say.js", &text);
    let error = rig.error("say", json!({})).await;
    assert_eq!(error.kind, ErrorKind::Conflict);
    assert!(error.message.contains("say.js` has changed"), "{error:?}");
    rig.register("say", "say.js", json!({})).await;
    assert_eq!(rig.data("say", json!({})).await, "two!");
}

#[tokio::test]
async fn as_many_at_once_as_there_is_room_for() {
    let rig = Rig::new().await;
    // Each says its process, when as many as there is room for have begun.
    rig.js(
        "meet",
        "const fs = require('fs'); const id = global.id ??= String(Math.random()); \
         ctx.logger.info('here'); while (!fs.existsSync('go')) await new Promise(r => setTimeout(r, 5)); \
         return id",
        json!({}),
    )
    .await;
    let call = || async {
        let answer = rig.call("meet", json!({})).await;
        answer.result.unwrap()
    };
    let go = async {
        // Two are at work, one waits for a place.
        loop {
            let store = rig.kernel.store();
            let runs = store.runs(RunFilter::default(), 10).await.unwrap();
            let mut begun = 0;
            for run in &runs {
                begun += usize::from(!store.chunks(&run.id, 0, 1).await.unwrap().is_empty());
            }
            if runs.len() == 3 && begun == 2 {
                break;
            }
            tokio::task::yield_now().await;
        }
        rig.write("go", "");
    };
    let (a, b, c, ()) = tokio::join!(call(), call(), call(), go);
    // Whoever came third had to wait, and took what was there.
    let workers = std::collections::HashSet::from([a.to_string(), b.to_string(), c.to_string()]);
    assert_eq!(workers.len(), 2, "{a} {b} {c}");
}

#[tokio::test]
async fn nothing_is_inherited_and_nothing_reached() {
    let settings = ScriptSettings {
        pool: 1,
        ..ScriptSettings::default()
    };
    let rig = Rig::with(settings, json!([])).await;
    rig.write(".helve/secret", "secret");
    rig.js("env", "return Object.keys(process.env).sort()", json!({}))
        .await;
    let names = rig.data("env", json!({})).await;
    let wanted = ["HOME", "LANG", "PATH", "PWD"];
    let names: Vec<&str> = names
        .as_array()
        .unwrap()
        .iter()
        .map(|n| n.as_str().unwrap())
        .collect();
    let strange: Vec<&&str> = names
        .iter()
        .filter(|n| !wanted.contains(n) && **n != "OLDPWD" && **n != "_")
        .collect();
    assert!(strange.is_empty(), "{names:?}");
    let given = json!({"executor": {"env": {"TZ": "Asia/Tokyo"}}});
    rig.js("tz", "return process.env.TZ", given).await;
    assert_eq!(rig.data("tz", json!({})).await, "Asia/Tokyo");
    rig.js(
        "secret",
        "return require('fs').readFileSync('.helve/secret', 'utf8')",
        json!({}),
    )
    .await;
    assert!(
        rig.error("secret", json!({}))
            .await
            .message
            .contains("ENOENT")
    );
    let dial = "await new Promise((yes, no) => require('net').connect(9, '127.0.0.1').on('error', no).on('connect', yes))";
    rig.js("dial", dial, json!({})).await;
    let error = rig.error("dial", json!({})).await;
    assert!(!error.message.contains("ECONNREFUSED"), "{error:?}");
}

#[tokio::test]
async fn bad_settings() {
    let rig = Rig::new().await;
    rig.write("tools/a.js", "module.exports = {}");
    let cases = [
        (json!({"path": "tools/none.js"}), "there is no script"),
        (
            json!({"path": "tools/a.txt"}),
            "cannot be told from its ending",
        ),
        (
            json!({"path": "tools/a.js", "runtime": "deno"}),
            "there is no runtime `deno`",
        ),
        (json!({"path": "tools"}), "cannot be told from its ending"),
        (
            json!({"path": "tools/a.js", "memory": "much"}),
            "must be a size",
        ),
        (json!({"path": "tools/a.js", "pids": 0}), "`pids`"),
        (
            json!({"path": "tools/a.js", "env": {"LD_PRELOAD": "x"}}),
            "LD_PRELOAD",
        ),
        (
            json!({"path": "tools/a.js", "cwd": "/"}),
            "outside the workspace",
        ),
    ];
    for (settings, wanted) in cases {
        let mut executor = json!({"type": "script"});
        executor
            .as_object_mut()
            .unwrap()
            .extend(settings.as_object().unwrap().clone());
        let def = ToolDef::from_value(&json!({
            "name": "a", "description": "Does it.", "input_schema": {"type": "object"},
            "risk": "read", "executor": executor,
        }))
        .unwrap();
        let error = rig.executor.inspect(&def).await.unwrap_err();
        assert!(error.message.contains(wanted), "{settings}: {error:?}");
    }
    let other = ScriptSettings {
        interpreters: vec![(Runtime::Node, "no-such-node".to_owned())],
        ..ScriptSettings::default()
    };
    let other = ScriptExecutor::new(HostExecutor::new(rig.folder.path()), other);
    let files = [rig.path("tools/a.js")];
    let error = other.describe(Runtime::Node, &files).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Dependency);
    assert!(error.hint.unwrap().contains("[scripts] node"));
}
