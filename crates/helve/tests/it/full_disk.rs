//! A disk that is full: calls are refused, nothing is damaged, and it goes on when
//! there is space again.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::run::Folder;
use crate::server::{Server, send, token, until, up};

/// A hub on a small disk of its own: memory, mounted where only it can see it.
fn on_a_small_disk(folder: &Path) -> (Server, PathBuf) {
    std::fs::DirBuilder::new()
        .mode(0o700)
        .create(folder.join("disk"))
        .unwrap();
    let inner = up(folder);
    let program = inner.get_program().to_str().unwrap();
    // It is asked in a hurry: the limits have tests of their own.
    let script = format!(
        "mount -t tmpfs -o size=12m helve disk && cd disk && mkdir -p tools && cp ../look.json tools/ \
         && printf '[server]\\nrate = 100000\\nburst = 100000\\n' > helve.toml \
         && HELVE_LOG=quiet exec {program} up --listen 127.0.0.1:0"
    );
    let child = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", &script])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    // The disk as it looks from outside.
    let disk = PathBuf::from(format!(
        "/proc/{}/root{}",
        child.id(),
        folder.join("disk").display()
    ));
    until("the disk is mounted", || {
        disk.join("tools").is_dir().then_some(())
    });
    (Server::started(child, &disk), disk)
}

fn call(server: &Server, agent: &str) -> (u16, Value) {
    let path = "/tools/look/runs";
    send(&server.address, "POST", path, Some(agent), Some(&json!({}))).unwrap()
}

#[test]
fn a_full_disk_refuses_calls_and_damages_nothing() {
    let folder = Folder::new();
    let tool = json!({
        "name": "look",
        "description": "Says hello. Use it to see whether the hub works.",
        "risk": "read",
        "executor": {"type": "host", "command": ["echo", "hello"]},
        "input_schema": {"type": "object", "properties": {}},
    });
    folder.write("look.json", tool.to_string());
    let (server, disk) = on_a_small_disk(&folder.path().canonicalize().unwrap());
    let agent = token(&disk, "agent");
    let person = token(&disk, "terminal");
    let (status, answer) = call(&server, &agent);
    assert_eq!((status, &answer["ok"]), (200, &json!(true)), "{answer}");

    // Fill it to the last byte, then call until the file of the store has to grow.
    let mut filled = 0;
    let filler = disk.join("filler");
    let refused = until("a call is refused", || {
        let more = vec![0; 1 << 20];
        let mut file = std::fs::File::options()
            .create(true)
            .append(true)
            .open(&filler)
            .unwrap();
        while let Ok(n) = std::io::Write::write(&mut file, &more[..4096]) {
            filled += n;
        }
        let (status, answer) = call(&server, &agent);
        // One that had begun may end without its record; then nothing begins any more.
        (status != 200 && status != 202).then_some((status, answer))
    });
    assert!(filled > 0);
    assert_eq!(refused.0, 503, "{}", refused.1);
    let said = refused.1["detail"].as_str().unwrap();
    assert!(
        said.contains("could not be written") || said.contains("could not be recorded"),
        "{said}"
    );

    // Space again: it works, every run is over, and nothing of the record is broken.
    std::fs::remove_file(&filler).unwrap();
    until("it works again", || {
        (call(&server, &agent).1["ok"] == true).then_some(())
    });
    until("every run comes to its end", || {
        let page = server.get("/runs?state=running", &person);
        page["items"].as_array().unwrap().is_empty().then_some(())
    });
    let entries = server.get("/audit?limit=1", &person);
    assert_eq!(entries["items"][0]["seq"], 1);
    let exported = server.text("/audit/export", &person);
    let lines = exported.lines();
    let head = helve_core::audit::verify(lines, helve_core::audit::Head::START, None).unwrap();
    assert!(head.seq > 3);
    server.kill();
}
