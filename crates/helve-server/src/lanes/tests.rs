//! Who serves which connection, and how it ends.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, mpsc as blocking};

use axum::routing::get;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::Notify;
use tokio::task::JoinHandle as Task;

use super::*;

async fn thread() -> String {
    format!("{:?}\n", std::thread::current().id())
}

/// Lanes that serve a router.
struct Served {
    lanes: Arc<Lanes>,
    at: SocketAddr,
    closing: CancellationToken,
    serving: Task<io::Result<()>>,
}

async fn served(count: usize, router: Router) -> Served {
    let lanes = Arc::new(Lanes::of(count).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let closing = CancellationToken::new();
    let (on, until) = (lanes.clone(), closing.clone());
    let serving = tokio::spawn(async move { on.serve(listener, router, until).await });
    Served {
        lanes,
        at,
        closing,
        serving,
    }
}

/// A connection that is kept.
struct Kept(TcpStream);

impl Kept {
    async fn to(at: SocketAddr) -> Self {
        Self(TcpStream::connect(at).await.unwrap())
    }

    async fn ask(&mut self, path: &str) {
        let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n");
        self.0.write_all(request.as_bytes()).await.unwrap();
    }

    /// The body of the next answer: a line.
    async fn hear(&mut self) -> String {
        let mut all = Vec::new();
        let ended = |all: &[u8]| {
            let text = String::from_utf8_lossy(all).into_owned();
            let body = text.split_once("\r\n\r\n")?.1;
            body.ends_with('\n').then(|| body.to_owned())
        };
        loop {
            if let Some(body) = ended(&all) {
                return body;
            }
            let read = self.0.read_buf(&mut all).await.unwrap();
            assert!(
                read > 0,
                "hung up after {:?}",
                String::from_utf8_lossy(&all)
            );
        }
    }
}

#[test]
fn all_lanes_get_as_many_whatever_the_rhythm() {
    for lanes in 1..=MOST {
        for step in 1..=6 {
            let mut shares = BTreeMap::new();
            for number in (0..step * 800).step_by(step as usize) {
                *shares.entry(spread(number, lanes)).or_insert(0usize) += 1;
            }
            let fair = 800 / lanes;
            assert_eq!(shares.len(), lanes, "{lanes} lanes, every {step}.");
            let even = |count: &usize| count.abs_diff(fair) <= 40;
            assert!(shares.values().all(even), "{lanes}, {step}: {shares:?}");
        }
    }
}

#[tokio::test]
async fn a_connection_stays_with_its_thread_and_all_threads_have_some() {
    let served = served(3, Router::new().route("/", get(thread))).await;
    let mut threads = HashSet::new();
    for _ in 0..24 {
        let mut kept = Kept::to(served.at).await;
        kept.ask("/").await;
        let first = kept.hear().await;
        kept.ask("/").await;
        assert_eq!(kept.hear().await, first);
        threads.insert(first);
    }
    assert_eq!(threads.len(), 3);
    assert!(!threads.contains(&thread().await), "not by who accepts");
}

/// A lane that something holds up holds up nobody else, nor that new ones are let in.
#[tokio::test]
async fn a_lane_that_stands_still_stops_no_other() {
    let (release, held) = blocking::channel::<()>();
    let held = Arc::new(Mutex::new(Some(held)));
    let hold = move || {
        let held = held.clone();
        async move {
            let held = held.lock().unwrap().take().unwrap();
            held.recv().unwrap();
            thread().await
        }
    };
    let router = Router::new()
        .route("/", get(thread))
        .route("/hold", get(hold));
    let served = served(2, router).await;
    let mut stuck = Kept::to(served.at).await;
    stuck.ask("/").await;
    let its = stuck.hear().await;
    stuck.ask("/hold").await;
    let mut others = Vec::new();
    for _ in 0..8 {
        let mut kept = Kept::to(served.at).await;
        kept.ask("/").await;
        others.push(kept);
    }
    // Half of them are the other lane's, and are answered.
    let (answers, mut heard) = mpsc::unbounded_channel();
    for mut other in others {
        let answers = answers.clone();
        tokio::spawn(async move { answers.send(other.hear().await) });
    }
    for _ in 0..4 {
        assert_ne!(heard.recv().await.unwrap(), its);
    }
    release.send(()).unwrap();
    assert_eq!(stuck.hear().await, its);
    for _ in 0..4 {
        assert_eq!(heard.recv().await.unwrap(), its);
    }
}

#[tokio::test]
async fn at_the_end_requests_get_their_answers_and_nobody_is_let_in() {
    let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (begins, goes) = (begun.clone(), go.clone());
    let slow = move || {
        let (begins, goes) = (begins.clone(), goes.clone());
        async move {
            begins.notify_one();
            goes.notified().await;
            "done\n"
        }
    };
    let served = served(2, Router::new().route("/", get(slow))).await;
    let mut kept = Kept::to(served.at).await;
    kept.ask("/").await;
    begun.notified().await;
    served.closing.cancel();
    let refused = async {
        while TcpStream::connect(served.at).await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    let refused = tokio::time::timeout(Duration::from_secs(20), refused).await;
    assert!(refused.is_ok(), "somebody was let in");
    assert!(!served.serving.is_finished(), "one is at work");
    go.notify_one();
    assert_eq!(kept.hear().await, "done\n");
    served.serving.await.unwrap().unwrap();
}

/// What a request started goes on when its connection is gone, and ends with the lanes.
#[tokio::test]
async fn what_was_started_ends_with_the_lanes() {
    let (alive, mut ended) = mpsc::unbounded_channel::<()>();
    let start = move || {
        let alive = alive.clone();
        async move {
            tokio::spawn(async move {
                std::future::pending::<()>().await;
                drop(alive);
            });
            "begun\n"
        }
    };
    let served = served(2, Router::new().route("/", get(start))).await;
    let mut kept = Kept::to(served.at).await;
    kept.ask("/").await;
    assert_eq!(kept.hear().await, "begun\n");
    drop(kept);
    served.closing.cancel();
    served.serving.await.unwrap().unwrap();
    assert_eq!(ended.try_recv(), Err(mpsc::error::TryRecvError::Empty));
    drop(served.lanes);
    assert_eq!(ended.recv().await, None);
}
