//! A hub that runs, and the plainest of HTTP clients.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// A running hub. It is killed when the test is done with it.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: String,
}

/// How long anything may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Asks again and again until there is an answer.
#[track_caller]
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "{what}: not within {PATIENCE:?}");
        std::thread::yield_now();
    }
}

/// The command that starts a hub in a folder.
pub(crate) fn up(folder: &Path) -> Command {
    let mut command = crate::run::command(folder);
    command
        .args(["up", "--listen", "127.0.0.1:0"])
        .env("HELVE_LOG", "quiet")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::inherit());
    command
}

impl Server {
    /// Starts a hub, and waits until it answers.
    pub(crate) fn start(folder: &Path) -> Self {
        Self::started(up(folder).spawn().unwrap(), folder)
    }

    /// Waits until a hub that was started answers.
    pub(crate) fn started(mut child: Child, folder: &Path) -> Self {
        let address = until("the hub starts", || {
            assert!(child.try_wait().unwrap().is_none(), "the hub ended at once");
            let text = std::fs::read_to_string(folder.join(".helve/hub.json")).ok()?;
            let value: Value = serde_json::from_str(&text).ok()?;
            let address = value["url"].as_str()?.strip_prefix("http://")?.to_owned();
            // An earlier hub may have left its file behind.
            let alive = send(&address, "GET", "/healthz", None, None);
            alive.filter(|(status, _)| *status == 200).map(|_| address)
        });
        Self { child, address }
    }

    /// Ends it as a power cut would.
    pub(crate) fn kill(mut self) {
        self.end();
    }

    /// Stops it as a person would, and sees that it leaves nothing behind.
    #[track_caller]
    pub(crate) fn stop(mut self, folder: &Path) {
        self.signal("-TERM");
        let status = until("the hub stops", || self.child.try_wait().unwrap());
        assert_eq!(status.code(), Some(0), "it stops in order");
        assert!(!folder.join(".helve/hub.json").exists());
    }

    /// Sends it a signal, by its number.
    pub(crate) fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args([signal, &id]).status().unwrap();
        assert!(sent.success());
    }

    fn end(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    #[track_caller]
    pub(crate) fn get(&self, path: &str, token: &str) -> Value {
        let answer = send(&self.address, "GET", path, Some(token), None);
        let (status, value) = answer.unwrap_or_else(|| panic!("no answer: {path}"));
        assert_eq!(status, 200, "{path}: {value}");
        value
    }

    /// A body that is not JSON.
    #[track_caller]
    pub(crate) fn text(&self, path: &str, token: &str) -> String {
        let (status, text) = exchange(&self.address, "GET", path, Some(token), None).unwrap();
        assert_eq!(status, 200, "{path}: {text}");
        text
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// The secret of a token that the workspace keeps.
pub(crate) fn token(folder: &Path, name: &str) -> String {
    let path = folder.join(".helve/tokens").join(name);
    std::fs::read_to_string(path).unwrap().trim().to_owned()
}

/// One request; nothing if the hub went away in the middle of it.
pub(crate) fn send(
    address: &str,
    method: &str,
    path: &str,
    token: Option<&str>,
    body: Option<&Value>,
) -> Option<(u16, Value)> {
    let (status, body) = exchange(address, method, path, token, body)?;
    Some((status, serde_json::from_str(&body).unwrap_or(Value::Null)))
}

fn exchange(
    address: &str,
    method: &str,
    path: &str,
    token: Option<&str>,
    body: Option<&Value>,
) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    let body = body.map(ToString::to_string).unwrap_or_default();
    let auth = token
        .map(|t| format!("Authorization: Bearer {t}\r\n"))
        .unwrap_or_default();
    let kind = if body.is_empty() {
        ""
    } else {
        "Content-Type: application/json\r\n"
    };
    let length = body.len();
    // HTTP/1.0 has no chunks to put together.
    let text = format!(
        "{method} {path} HTTP/1.0\r\nHost: {address}\r\n{auth}{kind}Content-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(text.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some((status, body.to_owned()))
}
