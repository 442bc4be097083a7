//! Against servers of this machine, which are granted by their port and nothing else is.

mod faults;
#[cfg(feature = "web")]
mod hostile;
#[cfg(feature = "web")]
mod pages;
mod searching;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::Response;
use helve_http::guard::{Lookup, Place};
use helve_http::{Guard, SecretError, Secrets};
use serde_json::{Value, json};

use super::{Outside, Settings};
use crate::testing::Rig;

/// What a server was asked: a line for each request.
#[derive(Clone, Default)]
struct Asked(Arc<Mutex<Vec<String>>>);

impl Asked {
    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// Serves what a function of the path answers.
async fn serve(
    answer: impl Fn(&str) -> Response<Body> + Clone + Send + Sync + 'static,
) -> (SocketAddr, Asked) {
    let asked = Asked::default();
    let kept = asked.clone();
    let app = Router::new().fallback(move |request: Request| {
        let (kept, answer) = (kept.clone(), answer.clone());
        async move {
            let path = request.uri().path().to_owned();
            let mut line = format!("{} {}", request.method(), request.uri());
            for name in [
                "authorization",
                "x-subscription-token",
                "user-agent",
                "accept-encoding",
            ] {
                if let Some(value) = request.headers().get(name) {
                    line.push_str(&format!(" {name}={}", value.to_str().unwrap()));
                }
            }
            let body = axum::body::to_bytes(request.into_body(), 1 << 20)
                .await
                .unwrap();
            line.push_str(&format!(" {}", String::from_utf8_lossy(&body)));
            kept.0.lock().unwrap().push(line);
            answer(&path)
        }
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    (address, asked)
}

fn page(kind: &str, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    if !kind.is_empty() {
        response
            .headers_mut()
            .insert("content-type", kind.parse().unwrap());
    }
    response
}

fn status(code: u16, kind: &str, body: impl Into<Body>) -> Response<Body> {
    let mut response = page(kind, body);
    *response.status_mut() = axum::http::StatusCode::from_u16(code).unwrap();
    response
}

fn to(location: &str) -> Response<Body> {
    let mut response = status(302, "", "");
    response
        .headers_mut()
        .insert("location", location.parse().unwrap());
    response
}

/// Knows one key, for one host.
struct OneKey(&'static str);

#[async_trait]
impl Secrets for OneKey {
    async fn secret(&self, name: &str, place: &Place) -> Result<String, SecretError> {
        match (name, place.host.as_str()) {
            ("search", "127.0.0.1") => Ok(self.0.to_owned()),
            ("elsewhere", host) => Err(SecretError::Elsewhere {
                name: name.to_owned(),
                host: host.to_owned(),
            }),
            _ => Err(SecretError::Unknown(name.to_owned())),
        }
    }
}

/// Every name is a public host that nobody reaches.
struct Public;

#[async_trait]
impl Lookup for Public {
    async fn lookup(&self, host: &str) -> std::io::Result<Vec<std::net::IpAddr>> {
        match host {
            "near.example" => Ok(vec!["10.0.0.7".parse().unwrap()]),
            "unknown.example" | "box.internal" | "box" => {
                Err(std::io::Error::other("nobody knows"))
            }
            _ => Ok(vec!["93.184.216.34".parse().unwrap()]),
        }
    }
}

/// A hub that reaches these ports of this machine.
async fn rig(granted: &[SocketAddr], settings: Settings) -> Rig {
    let granted: Vec<String> = granted.iter().map(ToString::to_string).collect();
    let guard = Guard::parse(&granted)
        .unwrap()
        .with_lookup(Arc::new(Public));
    let outside = Arc::new(Outside::new(
        guard,
        Arc::new(OneKey("k3y-s3cr3t")),
        settings,
    ));
    Rig::with(super::toolset().unwrap(), |_, builder| {
        builder.service(outside)
    })
    .await
}

async fn fetched(rig: &Rig, at: SocketAddr, path: &str) -> Value {
    rig.data("web_fetch", json!({"url": format!("http://{at}{path}")}))
        .await
}
