//! The whole path, with permits of the real kernel.

use helve_core::def::ExecutorKind;
use helve_kernel::{Answer, Call as KernelCall, Kernel, Principal, Registration, RunState};

use super::*;

async fn kernel(hub: &Hub) -> Kernel {
    Kernel::builder()
        .root(hub.folder.path())
        .artifacts(hub.folder.path().join("artifacts"))
        .executor(ExecutorKind::Host, Arc::new(hub.executor.clone()))
        .open()
        .await
        .unwrap()
}

async fn called(kernel: &Kernel, def: ToolDef, args: Value) -> Answer {
    let who = Principal::person("ann");
    let name = def.name.to_string();
    let new = Registration {
        def,
        source: "api".to_owned(),
        why: None,
        replace: true,
    };
    kernel.register(&who, new).await.unwrap();
    kernel.call(KernelCall::new(who, name, args)).await
}

#[tokio::test]
async fn a_program_answers() {
    let hub = Hub::new();
    let kernel = kernel(&hub).await;
    let def = command(&["sh", "-c", "cat; echo oops >&2"]);
    let answer = called(&kernel, def, json!({"x": 1})).await;
    let wanted = json!({"exit_code": 0, "stdout": "{\"x\":1}", "stderr": "oops\n"});
    assert_eq!(answer.result, Ok(wanted));
    assert_eq!(answer.meta.exit_code, Some(0));
    let run = answer.meta.run_id.unwrap();
    let chunks = kernel.store().chunks(&run, 0, 10).await.unwrap();
    let mut kept: Vec<Vec<u8>> = chunks.into_iter().map(|chunk| chunk.bytes).collect();
    kept.sort();
    assert_eq!(kept, [b"oops\n".to_vec(), b"{\"x\":1}".to_vec()]);
}

#[tokio::test]
async fn a_failure_has_its_code() {
    let hub = Hub::new();
    let kernel = kernel(&hub).await;
    let def = command(&["sh", "-c", "echo bad >&2; exit 7"]);
    let answer = called(&kernel, def, json!({})).await;
    assert_eq!(answer.meta.exit_code, Some(7));
    assert_eq!(answer.meta.state, Some(RunState::Failed));
    assert_eq!(
        answer.result.unwrap_err().message,
        "exited with code 7: bad"
    );
}

#[tokio::test]
async fn a_time_limit_ends_all_of_it() {
    let hub = Hub::new();
    let kernel = kernel(&hub).await;
    // One that leaves the group as well: nobody is told apart from others by a number
    // that only this test uses.
    let mark = format!("61.{}", std::process::id());
    let script = format!("sleep {mark} & setsid sleep {mark} & trap '' TERM; wait; sleep {mark}");
    let mut def = command(&["sh", "-c", &script]);
    def.timeout = Some(Duration::from_secs(1));
    let answer = called(&kernel, def, json!({})).await;
    assert_eq!(answer.meta.state, Some(RunState::TimedOut));
    assert_eq!(processes_with(&mark), Vec::<String>::new());
}

/// The command lines on this machine with that word in them, but that of this test.
fn processes_with(word: &str) -> Vec<String> {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let lines = all.filter_map(|p| fs::read(p.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(word)).collect()
}

#[tokio::test]
async fn long_output_is_an_artifact() {
    let hub = Hub::new();
    let kernel = kernel(&hub).await;
    let def = command(&["head", "-c", "50000", "/dev/zero"]);
    let answer = called(&kernel, def, json!({})).await;
    let run = answer.meta.run_id.unwrap();
    assert_eq!(answer.meta.artifacts[0].bytes, 50_000);
    let file = kernel.artifacts(&run).unwrap().join("stdout");
    assert_eq!(file.metadata().unwrap().len(), 50_000);
}
