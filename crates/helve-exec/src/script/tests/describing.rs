//! What files say of their tools.

use super::*;

async fn described(rig: &Rig, runtime: Runtime, names: &[&str]) -> Vec<Described> {
    let files: Vec<PathBuf> = names.iter().map(|name| rig.path(name)).collect();
    let found = rig.executor.describe(runtime, &files).await.unwrap();
    let order: Vec<PathBuf> = found.iter().map(|d| PathBuf::from(&d.file)).collect();
    assert_eq!(order, files);
    found
}

fn tools(described: &Described) -> Vec<&str> {
    let names = described
        .tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap());
    names.collect()
}

#[tokio::test]
async fn one_that_is_broken_harms_no_other() {
    let rig = Rig::new().await;
    let good = "module.exports = {name: 'good', description: 'x', handler: () => 1}\n";
    rig.write("tools/good.js", good);
    rig.write(
        "tools/broken.js",
        "const a = 1\nmodule.exports = {\n  name: }\n",
    );
    rig.write("tools/throws.js", "\nthrow new Error('at the door')\n");
    rig.write("tools/exits.js", "process.exit(1)\n");
    rig.write("tools/prints.js", &format!("console.log('hello')\n{good}"));
    rig.write(
        "tools/last.mjs",
        "export default {name: 'last', description: 'x', handler: () => 1}\n",
    );
    let names = ["good", "broken", "throws", "exits", "prints"].map(|n| format!("tools/{n}.js"));
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.push("tools/last.mjs");
    let found = described(&rig, Runtime::Node, &names).await;
    assert_eq!(tools(&found[0]), ["good"]);
    assert_eq!(tools(&found[4]), ["good"]);
    assert_eq!(tools(&found[5]), ["last"]);
    let error = |i: usize| found[i].error.clone().unwrap();
    assert_eq!(error(1).line, Some(3));
    assert!(error(1).message.contains("SyntaxError"));
    assert_eq!(error(2).line, Some(2));
    assert!(error(2).message.contains("at the door"));
    assert!(error(3).message.contains("exit"), "{:?}", error(3));
}

#[tokio::test]
async fn one_that_never_ends_is_found() {
    let rig = Rig::new().await;
    let good = "module.exports = {name: 'good', description: 'x', handler: () => 1}\n";
    rig.write("tools/good.js", good);
    rig.write("tools/aborts.js", "process.abort()\n");
    let found = described(&rig, Runtime::Node, &["tools/aborts.js", "tools/good.js"]).await;
    assert!(found[0].error.is_some());
    assert_eq!(tools(&found[1]), ["good"]);
}

#[tokio::test]
async fn in_python() {
    let rig = Rig::new().await;
    rig.write("tools/broken.py", "def f(:\n  pass\n");
    rig.write("tools/missing.py", "import os\nimport no_such_module\n");
    rig.write(
        "tools/fine.py",
        "def add(a: int, b: int = 2) -> int:\n    \"\"\"Adds.\"\"\"\n    return a + b\n",
    );
    let names = ["tools/broken.py", "tools/missing.py", "tools/fine.py"];
    let found = described(&rig, Runtime::Python, &names).await;
    assert_eq!(found[0].error.as_ref().unwrap().line, Some(1));
    assert_eq!(found[1].error.as_ref().unwrap().line, Some(2));
    assert_eq!(tools(&found[2]), ["add"]);
    assert_eq!(
        found[2].tools[0]["input_schema"]["properties"]["b"]["default"],
        2
    );
}

#[tokio::test]
async fn nothing_is_changed_by_looking() {
    let rig = Rig::new().await;
    let writes = "require('fs').writeFileSync('data/x', 'x')\n";
    rig.write("tools/writes.js", writes);
    let found = described(&rig, Runtime::Node, &["tools/writes.js"]).await;
    assert!(found[0].error.as_ref().unwrap().message.contains("EROFS"));
    assert_eq!(rig.read("data/x"), None);
}
