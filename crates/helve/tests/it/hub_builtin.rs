//! The tools that a hub has by itself, from the command line.

use serde_json::{Value, json};

use crate::hub::says;
use crate::run::Folder;
use crate::server::{Server, until};

/// An empty workspace.
fn empty() -> Folder {
    let folder = Folder::new();
    folder.write("helve.toml", "");
    folder
}

fn names(folder: &Folder) -> Vec<String> {
    let tools = folder.json(&["tools", "--json"]);
    let tools = tools.as_array().unwrap().iter();
    tools
        .map(|t| t["id"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn what_is_there_is_for_the_operator_to_say() {
    let folder = empty();
    let all = names(&folder);
    for name in ["todo_add", "system_execute", "human_input", "skills_list"] {
        assert!(all.iter().any(|n| n == name), "{name} in {all:?}");
    }
    let folder = Folder::new();
    folder.write(
        "helve.toml",
        "[toolsets]\noff = [\"todo\", \"skills_*\", \"shell_exec\"]\n",
    );
    let some = names(&folder);
    assert!(some.iter().any(|n| n == "system_info"));
    let gone =
        |n: &&String| n.starts_with("todo") || n.starts_with("skills") || n.starts_with("shell");
    assert_eq!(some.iter().find(gone), None);
    folder.write(
        "helve.toml",
        "[toolsets]\nhosts = [\"https://a.example\"]\n",
    );
    let refused = folder.helve(&["tools"]).ended(3);
    says(
        &refused,
        &["`toolsets.hosts`: `https://a.example` is no host"],
    );
}

#[test]
fn what_the_workspace_defines_goes_before() {
    let folder = Folder::new();
    let own = crate::hub::tool("add", "read", "echo mine", &json!({}));
    folder.write("tools/todo/add.json", own.to_string());
    let ran = folder.helve(&["call", "todo_add"]).ended(0);
    assert_eq!(ran.out, "mine\n");
    says(
        &folder.helve(&["tools"]),
        &["the built-in `todo_add` is left out"],
    );
}

#[test]
fn a_command_line_is_off_then_asked_for_and_its_effect_as_well() {
    let folder = empty();
    let line = "command=echo hi > new.txt; echo out; exit 3";
    let off = folder.helve(&["call", "shell_exec", line]).ended(3);
    says(
        &off,
        &["`shell_exec` is disabled", "helve enable shell_exec"],
    );
    folder.write("helve.toml", "[toolsets]\non = [\"shell_exec\"]\n");
    let (run, approval) = folder.asked(&["run_shell", line]);
    assert!(!folder.path().join("new.txt").exists());
    let ran = folder.helve(&["approve", &approval, "--yes"]).ended(6);
    says(
        &ran,
        &["has changed nothing yet: it would change 1 path (1 created)"],
    );
    assert!(
        !folder.path().join("new.txt").exists(),
        "the effect waits as well"
    );
    says(&folder.helve(&["diff", &run]).ended(0), &["new.txt", "+hi"]);
    let answer = folder
        .helve(&["approve", "--yes", "--json"])
        .ended(0)
        .json();
    assert_eq!(
        answer["data"],
        json!({"exit_code": 3, "stdout": "out\n", "stderr": ""})
    );
    assert_eq!(folder.read("new.txt"), "hi\n");
    folder.helve(&["undo", &run]).ended(0);
    assert!(!folder.path().join("new.txt").exists());
}

#[test]
fn a_registered_command_and_a_script_of_a_skill_run_as_themselves() {
    let folder = Folder::new();
    folder.write(
        "helve.toml",
        "[[policy]]\neffect = \"allow\"\ntool = \"skill_*\"\n",
    );
    let own = crate::hub::tool("test", "read", "echo tested", &json!({}));
    folder.write("tools/project/test.json", own.to_string());
    folder.write(
        "skills/pdf/SKILL.md",
        "---\nname: pdf\ndescription: Fills.\n---\nDo it.\n",
    );
    folder.write("skills/pdf/scripts/fill.sh", "echo filled \"$1\" \"$2\"\n");
    let ran = folder
        .helve(&["call", "system_execute", "command=project_test"])
        .ended(0);
    assert_eq!(ran.out, "tested\n");
    let args = r#"{"skill_name": "pdf", "script_name": "fill.sh", "args": ["--out", "a b"]}"#;
    let ran = folder
        .helve(&["call", "run_skill_script", "--args", args])
        .ended(0);
    assert_eq!(ran.out, "filled --out a b\n");
    let through = folder.helve(&["audit", "tail", "--json"]).ended(0).out;
    assert!(
        through.contains("\"through\":\"skills_run_script\""),
        "{through}"
    );
    folder.write("skills/pdf/scripts/fill.sh", "echo other\n");
    let changed = folder
        .helve(&["call", "run_skill_script", "--args", args])
        .ended(1);
    says(&changed, &["has changed since the tool was registered"]);
    folder.helve(&["remove", "skill_pdf_fill_sh"]).ended(0);
    let ran = folder
        .helve(&["call", "run_skill_script", "--args", args])
        .ended(0);
    assert_eq!(ran.out, "other\n");
}

#[test]
fn a_question_is_answered_on_the_terminal_and_not_by_an_agent() {
    let folder = Folder::new();
    let server = Server::start(folder.path());
    let mut asking = crate::run::command(folder.path());
    let asking = asking
        .args([
            "call",
            "ask_user",
            "question=Which one?",
            "options:=[\"a\",\"b\"]",
            "--as",
            "agent",
            "--json",
        ])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let question: Value = until("somebody is asked", || {
        folder.json(&["questions", "--json"]).get(0).cloned()
    });
    let id = question["id"].as_str().unwrap();
    says(
        &folder.helve(&["questions"]).ended(0),
        &["Which one?", "agent:agent"],
    );
    says(
        &folder.helve(&["answer", id]).ended(0),
        &["Which one?", "one of `a`, `b`"],
    );
    let agent = folder.helve(&["answer", id, "a", "--as", "agent"]);
    says(&agent, &["agents never answer what people are asked"]);
    says(
        &folder.helve(&["answer", id, "c"]),
        &["the answer does not fit"],
    );
    folder.helve(&["answer", &id[id.len() - 8..], "b"]).ended(0);
    let output = asking.wait_with_output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["data"]["answer"], "b", "{answer}");
    assert!(answer["data"]["by"].as_str().unwrap().starts_with("user:"));
    says(
        &folder.helve(&["questions"]).ended(0),
        &["nobody is asked anything"],
    );
    server.stop(folder.path());
}

/// Answers one request as Tavily does, and gives back what was asked.
fn searched() -> (u16, std::thread::JoinHandle<String>) {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let served = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut asked = Vec::new();
        let mut piece = [0; 4096];
        while !String::from_utf8_lossy(&asked).ends_with('}') {
            let read = stream.read(&mut piece).unwrap();
            assert!(read > 0);
            asked.extend_from_slice(&piece[..read]);
        }
        let body = r#"{"query":"q","results":[{"title":"T","url":"https://a.example/","content":"c","score":0.5}]}"#;
        let length = body.len();
        write!(
            stream,
            "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        String::from_utf8_lossy(&asked).into_owned()
    });
    (port, served)
}

#[test]
fn the_web_is_searched_as_it_is_configured() {
    let folder = empty();
    let said = folder.helve(&["call", "web_search", "query=q"]);
    assert_ne!(said.code, 0);
    says(
        &said,
        &[
            "nobody is configured to search the web",
            "`[web]` `search = \"tavily\"`",
        ],
    );
    let (port, served) = searched();
    folder.write("key", "k3y-s3cr3t\n");
    let config = |hosts: &str| {
        format!(
            "[web]\nsearch = \"tavily\"\nsearch_url = \"http://127.0.0.1:{port}\"\nkey = \"tavily\"\n\
             [network]\nallow = [\"127.0.0.1:{port}\"]\n\
             [secrets.tavily]\nfrom = \"file:key\"\nhosts = [\"{hosts}\"]\n"
        )
    };
    // A key that is for another host is not sent.
    folder.write("helve.toml", config("api.tavily.com"));
    let said = folder.helve(&["call", "web_search", "query=q"]);
    assert_ne!(said.code, 0);
    says(&said, &["the secret `tavily` is not for `127.0.0.1`"]);
    folder.write("helve.toml", config(&format!("127.0.0.1:{port}")));
    let found = folder.json(&["call", "mcp__web__web_search", "query=q", "--json"]);
    assert_eq!(
        found["data"]["results"][0]["url"], "https://a.example/",
        "{found}"
    );
    let asked = served.join().unwrap();
    assert!(asked.starts_with("POST /search HTTP/1.1\r\n"), "{asked}");
    assert!(
        asked.contains("authorization: Bearer k3y-s3cr3t\r\n"),
        "{asked}"
    );
    assert!(!found.to_string().contains("k3y-s3cr3t"), "{found}");
}

#[test]
fn what_is_not_public_is_not_read() {
    let folder = empty();
    for url in [
        "url=http://127.0.0.1:7717/",
        "url=http://169.254.169.254/latest/",
        "url=http://localhost/",
    ] {
        let said = folder.helve(&["call", "web_fetch", url]);
        assert_ne!(said.code, 0);
        says(&said, &["is not reached"]);
    }
}
