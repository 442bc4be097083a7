//! HTTP on the wire: connections that are kept and used again, with TLS where the address
//! says so. No redirects, which could lead a token elsewhere, and no proxy that nobody
//! configured.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::task::{Context, Poll};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use http::{Method, Request, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use percent_encoding::percent_decode_str;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio::runtime::{self, Handle};
use tokio::time::timeout;
use tower::{BoxError, Service};
use url::Url;

use super::address::{self, Careful};

/// How long it may take until both sides can speak.
const CONNECTING: Duration = Duration::from_secs(10);

/// How often a connection that is silent is looked after, and how often in vain.
const ALIVE: Duration = Duration::from_secs(15);
const IN_VAIN: u32 = 3;

/// After how long what nobody has taken counts as lost.
const LOST: Duration = Duration::from_secs(30);

/// What a server answers, whose body is still to come.
pub(crate) type Response = http::Response<Incoming>;

/// The connections to a server. A clone has the same.
#[derive(Clone)]
pub(crate) struct Wire(Arc<Inner>);

struct Inner {
    connector: InTime,
    /// Those of each runtime: one that another has opened is driven there, and every
    /// request would go to and fro.
    clients: RwLock<HashMap<runtime::Id, HttpClient>>,
}

type HttpClient = Client<InTime, Full<Bytes>>;

impl Wire {
    /// For a server at that address.
    pub(crate) fn new(to: &Url) -> Result<Self, String> {
        let mut plain = HttpConnector::new_with_resolver(Careful);
        plain.enforce_http(false);
        plain.set_nodelay(true);
        plain.set_keepalive(Some(ALIVE));
        plain.set_keepalive_interval(Some(ALIVE));
        plain.set_keepalive_retries(Some(IN_VAIN));
        plain.set_tcp_user_timeout(Some(LOST));
        // For each of its addresses a part of the time.
        plain.set_connect_timeout(Some(CONNECTING));
        let connector = HttpsConnector::from((plain, tls(to.scheme() == "https")?));
        Ok(Self(Arc::new(Inner {
            connector: InTime(connector),
            clients: RwLock::default(),
        })))
    }

    /// Sends a request; the answer as soon as its head is there.
    pub(crate) async fn send(
        &self,
        method: Method,
        to: &Target,
        mut headers: HeaderMap,
        body: impl Into<Bytes>,
    ) -> Result<Response, Error> {
        if let Some(login) = &to.login {
            headers
                .entry(AUTHORIZATION)
                .or_insert_with(|| login.clone());
        }
        let mut request = Request::new(Full::new(body.into()));
        *request.method_mut() = method;
        *request.uri_mut() = to.uri.clone();
        *request.headers_mut() = headers;
        self.0.client().request(request).await
    }
}

impl Inner {
    /// Whoever has the connections of this runtime.
    fn client(&self) -> HttpClient {
        let here = Handle::current().id();
        let known = self.clients.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = known.get(&here) {
            return client.clone();
        }
        drop(known);
        let mut clients = self.clients.write().unwrap_or_else(PoisonError::into_inner);
        let new = || {
            Client::builder(TokioExecutor::new())
                .pool_timer(TokioTimer::new())
                .build(self.connector.clone())
        };
        clients.entry(here).or_insert_with(new).clone()
    }
}

/// Connects, and gives up where both sides cannot speak in time.
#[derive(Clone)]
struct InTime(HttpsConnector<HttpConnector<Careful>>);

impl Service<Uri> for InTime {
    type Response = MaybeHttpsStream<TokioIo<TcpStream>>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let connecting = timeout(CONNECTING, self.0.call(to));
        Box::pin(async move {
            let late = |_| format!("there was no connection within {CONNECTING:?}");
            connecting.await.map_err(late)?
        })
    }
}

/// Where requests go.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    uri: Uri,
    /// The name and password that stood in the address.
    login: Option<HeaderValue>,
}

impl Target {
    pub(crate) fn new(url: &Url) -> Result<Self, String> {
        address::check(url)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("`{}` is no way to a server", url.scheme()));
        }
        let unreadable = |why: String| format!("its address cannot be read: {why}");
        let mut bare = url.clone();
        bare.set_fragment(None);
        let cleared = bare.set_username("").and_then(|()| bare.set_password(None));
        cleared.map_err(|()| unreadable("it has no host".to_owned()))?;
        let uri = bare.as_str().parse::<Uri>();
        Ok(Self {
            uri: uri.map_err(|e| unreadable(e.to_string()))?,
            login: login(url),
        })
    }
}

fn login(url: &Url) -> Option<HeaderValue> {
    let (name, word) = (url.username(), url.password());
    if name.is_empty() && word.is_none() {
        return None;
    }
    let mut both: Vec<u8> = percent_decode_str(name).collect();
    both.push(b':');
    both.extend(percent_decode_str(word.unwrap_or_default()));
    let value = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(both)));
    value.ok().map(|mut value| {
        value.set_sensitive(true);
        value
    })
}

/// How certificates are looked at, where it matters.
fn tls(matters: bool) -> Result<ClientConfig, String> {
    let roots = match matters {
        true => trusted_here()?,
        false => Arc::new(RootCertStore::empty()),
    };
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let versions = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| format!("TLS cannot be set up: {e}"))?;
    let mut config = versions.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// Whoever this machine trusts, read once. Where that is nobody, it is read again next time.
fn trusted_here() -> Result<Arc<RootCertStore>, String> {
    static TRUSTED: OnceLock<Arc<RootCertStore>> = OnceLock::new();
    if let Some(roots) = TRUSTED.get() {
        return Ok(roots.clone());
    }
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        let why = found.errors.first().map(|e| format!(": {e}"));
        return Err(format!(
            "this machine trusts nobody{}; install its certificates, or name a file of them in \
             `SSL_CERT_FILE`",
            why.unwrap_or_default()
        ));
    }
    Ok(TRUSTED.get_or_init(|| Arc::new(roots)).clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(url: &str) -> Result<Target, String> {
        Target::new(&Url::parse(url).unwrap())
    }

    /// A connection is used again, but only by the runtime that drives it.
    #[test]
    fn every_runtime_has_connections_of_its_own() {
        let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let at = format!("http://{}/", server.local_addr().unwrap());
        let (met, meets) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for (number, stream) in server.incoming().map_while(Result::ok).enumerate() {
                let met = met.clone();
                std::thread::spawn(move || {
                    answer(stream, || {
                        let _ = met.send(number);
                    });
                });
            }
        });
        let wire = Wire::new(&Url::parse(&at).unwrap()).unwrap();
        let to = target(&at).unwrap();
        let runtime = || {
            let mut new = runtime::Builder::new_current_thread();
            new.enable_all().build().unwrap()
        };
        let (one, other) = (runtime(), runtime());
        let ask = |on: &runtime::Runtime| {
            let asked = wire.send(Method::POST, &to, HeaderMap::new(), "");
            on.block_on(async {
                // Where it is driven by another runtime, no answer comes.
                let asked = timeout(CONNECTING, asked).await.unwrap();
                let body = asked.unwrap().into_body();
                http_body_util::BodyExt::collect(body).await.unwrap();
                // What is read to its end goes back to those that wait.
                tokio::task::yield_now().await;
            });
            meets.recv().unwrap()
        };
        let served: Vec<usize> = [&one, &one, &other, &one, &other].map(ask).into();
        assert_eq!(served, [0, 0, 1, 0, 1]);
    }

    /// Answers every request on a connection, and tells of it.
    fn answer(stream: std::net::TcpStream, told: impl Fn()) {
        use std::io::{BufRead as _, Write as _};
        let mut out = stream.try_clone().unwrap();
        for line in std::io::BufReader::new(stream).lines() {
            if line.unwrap().is_empty() {
                told();
                let _ = out.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
            }
        }
    }

    #[test]
    fn a_login_in_an_address_travels_as_a_header() {
        let found = target("http://ann:p%40ss@127.0.0.1:1/mcp?x=1#y").unwrap();
        assert_eq!(found.uri, "http://127.0.0.1:1/mcp?x=1");
        let login = found.login.unwrap();
        assert_eq!(login, format!("Basic {}", STANDARD.encode("ann:p@ss")));
        assert!(login.is_sensitive());
        assert!(target("https://example.com/mcp").unwrap().login.is_none());
    }

    #[test]
    fn addresses_as_people_write_them() {
        for (url, wanted) in [
            ("http://localhost", "http://localhost/"),
            ("http://[::1]:8080/mcp", "http://[::1]:8080/mcp"),
            (
                "https://bücher.example/ä",
                "https://xn--bcher-kva.example/%C3%A4",
            ),
            ("HTTPS://Example.COM:443/mcp", "https://example.com/mcp"),
        ] {
            assert_eq!(target(url).unwrap().uri, wanted, "{url}");
        }
    }

    #[test]
    fn what_is_no_way_to_a_server_is_refused() {
        for url in [
            "ftp://example.com/",
            "file:///etc/passwd",
            "http://169.254.169.254/",
        ] {
            assert!(target(url).is_err(), "{url}");
        }
    }
}
