//! What the configuration grants the built-in tools, through a whole hub.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::hub::says;
use crate::run::Folder;
use crate::server::{Server, send, token, until};

/// A database with one row, made by somebody else's program.
pub(crate) fn database(folder: &Path) {
    let make = "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); \
                db.execute('create table counter (id integer primary key, n integer)'); \
                db.execute('insert into counter values (1, 0)'); db.commit()";
    let made = Command::new("python3")
        .args(["-c", make])
        .arg(folder.join("app.db"))
        .status();
    assert!(made.unwrap().success());
}

/// A connection by name, on which an agent may write without being asked.
pub(crate) const CONNECTION: &str = "\
[databases.app]
url = \"sqlite:app.db\"
access = \"write\"

[[policy]]
effect = \"allow\"
tool = \"database_*\"
";

#[test]
fn a_database_is_known_by_its_name_and_a_change_of_it_is_undone() {
    let folder = Folder::new();
    folder.write("helve.toml", CONNECTION);
    database(folder.path());
    let n = || {
        let sql = "sql=select n from counter";
        let found = folder.json(&["call", "database_query", "connection=app", sql, "--json"]);
        found["data"]["rows"][0].clone()
    };
    assert_eq!(n(), json!([0]));
    let tables = folder.json(&["call", "database_schema", "connection=app", "--json"]);
    assert!(tables.to_string().contains("counter"), "{tables}");
    let sql = "sql=update counter set n = 7 where id = 1";
    let done = folder.json(&["call", "database_update", "connection=app", sql, "--json"]);
    let run = done["meta"]["run_id"].as_str().unwrap();
    assert_eq!(n(), json!([7]));
    says(&folder.helve(&["diff", run]).ended(0), &["counter", "7"]);
    folder.helve(&["undo", run]).ended(0);
    assert_eq!(n(), json!([0]));
    // A query that writes is refused by the database, and a name that nobody gave by us.
    let sneaky = "sql=update counter set n = 9";
    let refused = folder
        .helve(&["call", "database_query", "connection=app", sneaky])
        .ended(5);
    says(&refused, &["not authorized"]);
    let unknown = folder.helve(&["call", "database_query", "connection=other", "sql=select 1"]);
    says(&unknown, &["other"]);
    assert_eq!(n(), json!([0]));
}

#[test]
fn files_and_variables_are_what_the_configuration_grants() {
    let folder = Folder::new();
    folder.write(
        "helve.toml",
        "[toolsets]\npaths = [\"docs\"]\nenv = [\"SHOWN_IN_TEST\"]\n",
    );
    folder.write("docs/a.md", "inside\n");
    folder.write("src/b.rs", "outside\n");
    let inside = folder.helve(&["call", "file_read", "path=docs/a.md"]);
    says(&inside.ended(0), &["inside"]);
    for path in ["src/b.rs", "docs/../src/b.rs", "helve.toml"] {
        let refused = folder.helve(&["call", "file_read", &format!("path={path}")]);
        assert!(!refused.out.contains("outside"), "{path}: {}", refused.out);
        assert_ne!(refused.code, 0, "{path}");
    }
    let grep = |path: &str| {
        let path = format!("path={path}");
        folder.helve(&["call", "file_grep", "pattern=side", &path])
    };
    says(&grep("docs").ended(0), &["a.md"]);
    says(&grep(".").ended(5), &["outside of `docs`"]);

    let mut asked = crate::run::command(folder.path());
    let asked = asked
        .args(["call", "system_env", "--json"])
        .env("SHOWN_IN_TEST", "this is shown")
        .env("HIDDEN_IN_TEST", "this is not")
        .output()
        .unwrap();
    let told = String::from_utf8(asked.stdout).unwrap();
    assert!(told.contains("this is shown"), "{told}");
    assert!(told.contains("HIDDEN_IN_TEST"), "its name is told: {told}");
    assert!(!told.contains("this is not"), "{told}");
}

/// A moment so many seconds from now, as RFC 3339 has it.
fn moment(seconds: u32) -> String {
    let ahead = format!("+{seconds} seconds");
    let told = Command::new("date")
        .args(["-u", "-d", &ahead, "+%Y-%m-%dT%H:%M:%SZ"])
        .output()
        .unwrap();
    String::from_utf8(told.stdout).unwrap().trim().to_owned()
}

#[test]
fn what_is_due_runs_in_a_hub_that_runs_and_what_was_missed_after_it_was_away() {
    let folder = Folder::new();
    folder.write(
        "helve.toml",
        "[[policy]]\neffect = \"allow\"\ntool = \"schedule_*\"\n",
    );
    folder.write("note.txt", "a note\n");
    let schedule = |at: &str| {
        let args = json!({
            "name": "look",
            "trigger_type": "once",
            "trigger_config": {"run_at": at},
            "tool": "file_stat",
            "arguments": {"path": "note.txt"},
        });
        let args = args.to_string();
        let made = folder.json(&["call", "schedule_task", "--args", &args, "--json"]);
        assert_eq!(made["ok"], true, "{made}");
    };
    let ran = |server: &Server, count: usize| {
        let person = token(folder.path(), "terminal");
        until("it is called when it is due", || {
            let path = "/runs?tool=file_stat&state=succeeded";
            let (_, found) = send(&server.address, "GET", path, Some(&person), None)?;
            let found: Vec<Value> = found["items"].as_array()?.clone();
            (found.len() >= count).then_some(found)
        })
    };
    let server = Server::start(folder.path());
    schedule(&moment(3));
    let runs = ran(&server, 1);
    assert_eq!(runs[0]["owner"], "user:ada", "{runs:?}");
    let due = moment(3);
    schedule(&due);
    server.stop(folder.path());
    // The moment goes by while nobody is there.
    until("it is past", || (moment(0) > due).then_some(()));
    let server = Server::start(folder.path());
    assert_eq!(ran(&server, 2).len(), 2);
    server.stop(folder.path());
    folder.helve(&["audit", "verify"]).ended(0);
}
