//! Against servers of this machine, which are granted or not.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::Response;
use tokio::sync::Mutex as AsyncMutex;

use super::*;

/// A server that keeps what it was asked, and answers by a function of the path.
struct Server {
    address: SocketAddr,
    asked: Arc<AsyncMutex<Vec<String>>>,
}

impl Server {
    async fn start(
        answer: impl Fn(&str) -> Response<Body> + Clone + Send + Sync + 'static,
    ) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked: Arc<AsyncMutex<Vec<String>>> = Arc::default();
        let kept = asked.clone();
        let app = Router::new().fallback(move |request: Request| {
            let (kept, answer) = (kept.clone(), answer.clone());
            async move {
                let path = request.uri().path().to_owned();
                let mut line = format!("{} {}", request.method(), request.uri());
                for name in [
                    "authorization",
                    "cookie",
                    "x-note",
                    "content-type",
                    "referer",
                    "accept",
                ] {
                    if let Some(value) = request.headers().get(name) {
                        line.push_str(&format!(" {name}={}", value.to_str().unwrap()));
                    }
                }
                let body = axum::body::to_bytes(request.into_body(), 1 << 20)
                    .await
                    .unwrap();
                if !body.is_empty() {
                    line.push_str(&format!(" body={}", String::from_utf8_lossy(&body)));
                }
                kept.lock().await.push(line);
                answer(&path)
            }
        });
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { address, asked }
    }

    fn url(&self, path: &str) -> Url {
        Url::parse(&format!("http://{}{path}", self.address)).unwrap()
    }

    async fn asked(&self) -> Vec<String> {
        self.asked.lock().await.clone()
    }
}

fn plain(text: &str) -> Response<Body> {
    Response::new(Body::from(text.to_owned()))
}

fn moved(status: u16, to: &str) -> Response<Body> {
    Response::builder()
        .status(status)
        .header("location", to)
        .body(Body::empty())
        .unwrap()
}

fn web(grants: &[String]) -> Web {
    Web::new(Guard::parse(grants).unwrap())
}

fn grant(server: &Server) -> String {
    server.address.to_string()
}

fn full(method: Method, url: Url) -> Outgoing {
    let header = |name: &'static str, value: &'static str| {
        (
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        )
    };
    Outgoing {
        method,
        url,
        headers: vec![
            header("authorization", "Bearer s3cr3t"),
            header("cookie", "session=1"),
            header("x-note", "private"),
            header("accept", "application/json"),
            header("content-type", "application/json"),
        ],
        body: Some(b"{}".to_vec()),
        max_bytes: 1000,
    }
}

#[tokio::test]
async fn nothing_of_this_machine_without_a_grant() {
    let server = Server::start(|_| plain("inside")).await;
    let refused = web(&[])
        .fetch(Outgoing::get(server.url("/"), 100))
        .await
        .unwrap_err();
    assert!(
        matches!(refused, WebError::Refused(Refused::Range { .. })),
        "{refused}"
    );
    let mut named = server.url("/");
    named.set_host(Some("localhost")).unwrap();
    assert!(
        web(&[])
            .fetch(Outgoing::get(named.clone(), 100))
            .await
            .is_err()
    );
    let other_port = format!("127.0.0.1:{}", server.address.port() ^ 1);
    assert!(
        web(&[other_port])
            .fetch(Outgoing::get(server.url("/"), 100))
            .await
            .is_err()
    );
    assert_eq!(server.asked().await, [""; 0]);
    let fetched = web(&[grant(&server)])
        .fetch(Outgoing::get(server.url("/"), 100))
        .await
        .unwrap();
    assert_eq!(fetched.body, b"inside");
    let by_name = format!("localhost:{}", server.address.port());
    assert!(
        web(&[by_name])
            .fetch(Outgoing::get(named, 100))
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn a_redirect_begins_at_the_guard() {
    let inside = Server::start(|_| plain("keys")).await;
    let port = inside.address.port();
    for to in [
        format!("http://127.0.0.1:{port}/"),
        format!("http://2130706433:{port}/"),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
        format!("http://localhost:{port}/"),
        format!("http://0:{port}/"),
        "http://169.254.169.254/latest/meta-data".to_owned(),
        "file:///etc/passwd".to_owned(),
        "gopher://127.0.0.1/".to_owned(),
        format!("http://u:p@127.0.0.1:{port}/"),
    ] {
        let there = to.clone();
        let outside = Server::start(move |_| moved(302, &there)).await;
        let web = web(&[grant(&outside)]);
        let error = web
            .fetch(Outgoing::get(outside.url("/"), 100))
            .await
            .unwrap_err();
        assert!(matches!(error, WebError::Refused(_)), "{to}: {error}");
    }
    assert_eq!(inside.asked().await, [""; 0]);
}

#[tokio::test]
async fn on_another_origin_nothing_is_left_of_the_request() {
    let other = Server::start(|_| plain("there")).await;
    let there = other.url("/there").to_string();
    let first = Server::start(move |path| match path {
        "/same" => moved(307, "/again"),
        "/away" => moved(307, &there),
        _ => plain("here"),
    })
    .await;
    let web = web(&[grant(&first), grant(&other)]);
    let mut get = full(Method::GET, first.url("/away"));
    get.body = None;
    assert_eq!(web.fetch(get).await.unwrap().body, b"there");
    assert_eq!(other.asked().await, ["GET /there accept=application/json"]);
    // The same origin gets all of it again.
    web.fetch(full(Method::PUT, first.url("/same")))
        .await
        .unwrap();
    let asked = first.asked().await;
    assert_eq!(
        asked[2],
        "PUT /again authorization=Bearer s3cr3t cookie=session=1 x-note=private content-type=application/json accept=application/json body={}"
    );
    // What changes something is not sent elsewhere.
    let error = web
        .fetch(full(Method::POST, first.url("/away")))
        .await
        .unwrap_err();
    assert!(matches!(error, WebError::Redirect { .. }), "{error}");
    assert_eq!(other.asked().await.len(), 1);
}

#[tokio::test]
async fn the_answer_to_a_form_is_looked_at() {
    let server = Server::start(|path| match path {
        "/form" => moved(303, "/done"),
        "/old" => moved(302, "/done"),
        _ => plain("done"),
    })
    .await;
    let web = web(&[grant(&server)]);
    for path in ["/form", "/old"] {
        web.fetch(full(Method::POST, server.url(path)))
            .await
            .unwrap();
        let last = server.asked().await.pop().unwrap();
        assert!(
            last.starts_with("GET /done") && !last.contains("body="),
            "{last}"
        );
    }
}

#[tokio::test]
async fn it_does_not_go_on_for_ever() {
    let server = Server::start(|_| moved(302, "/again")).await;
    let error = web(&[grant(&server)])
        .fetch(Outgoing::get(server.url("/"), 100))
        .await
        .unwrap_err();
    assert!(matches!(error, WebError::TooManyRedirects), "{error}");
    assert_eq!(server.asked().await.len(), HOPS + 1);
}

#[tokio::test]
async fn never_from_https_to_http() {
    let sent = Outgoing::get(Url::parse("https://api.example.com/").unwrap(), 1);
    let mut headers = HeaderMap::new();
    headers.insert(
        LOCATION,
        HeaderValue::from_static("http://api.example.com/"),
    );
    assert!(next(&sent, StatusCode::FOUND, &headers).is_err());
    headers.insert(
        LOCATION,
        HeaderValue::from_static("https://api.example.com/b#c"),
    );
    let next = next(&sent, StatusCode::FOUND, &headers).unwrap().unwrap();
    assert_eq!(next.url.as_str(), "https://api.example.com/b");
}

#[tokio::test]
async fn an_answer_is_taken_up_to_a_limit() {
    let server = Server::start(|path| match path {
        // Says how long it is, and is longer than it may be.
        "/said" => plain(&"x".repeat(101)),
        // Says nothing, and never ends.
        "/endless" => {
            let pieces =
                futures_util::stream::repeat_with(|| Ok::<_, std::io::Error>(vec![b'x'; 50]));
            Response::new(Body::from_stream(pieces))
        }
        // Say nothing, and end at the limit or one byte later.
        "/over" | "/at" => {
            let length = if path == "/over" { 101 } else { 100 };
            let piece = async move { Ok::<_, std::io::Error>(vec![b'x'; length]) };
            Response::new(Body::from_stream(futures_util::stream::once(piece)))
        }
        _ => plain(&"x".repeat(100)),
    })
    .await;
    let web = web(&[grant(&server)]);
    for (path, good) in [
        ("/said", false),
        ("/endless", false),
        ("/over", false),
        ("/at", true),
        ("/fits", true),
    ] {
        let got = web.fetch(Outgoing::get(server.url(path), 100)).await;
        assert_eq!(got.is_ok(), good, "{path}");
        if let Err(error) = got {
            assert!(matches!(error, WebError::TooLong(100)), "{error}");
        }
    }
}

#[tokio::test]
async fn nobody_there_is_told_without_the_address() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let url = Url::parse(&format!("http://{address}/?key=s3cr3t")).unwrap();
    let error = web(&[address.to_string()])
        .fetch(Outgoing::get(url, 1))
        .await
        .unwrap_err();
    assert!(matches!(error, WebError::Unreachable { .. }), "{error}");
    assert!(!error.to_string().contains("s3cr3t"), "{error}");
}
