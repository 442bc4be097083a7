//! TLS to a server, and never without a look at who it is.
//!
//! An address says it as everywhere (`sslmode`, `sslrootcert`), and means no less than it does
//! elsewhere: whatever asks for TLS has the certificate checked, its name included. Where
//! nothing is said, a server on another machine is spoken to by TLS if it can, and one on this
//! machine plainly.

use std::borrow::Cow;
use std::error::Error as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use percent_encoding::percent_decode_str;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

/// What to do about a server that is not who it should be.
pub(super) const HINT: &str = "if an authority of your own signs its certificate, name that one in the url: \
    `sslrootcert=FILE`; on a network that is trusted, say `sslmode=disable`";

/// What an address says about TLS.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    mode: Option<SslMode>,
    authority: Option<PathBuf>,
}

/// How a server is spoken to.
#[derive(Clone)]
pub(super) struct Security {
    pub(super) mode: SslMode,
    /// Who may vouch for it; whoever this machine trusts, if nobody is named.
    authority: Option<Arc<RootCertStore>>,
}

/// What an address says about TLS, and the address without it.
pub(super) fn split(url: &str) -> Result<(Cow<'_, str>, Wanted), String> {
    let mut wanted = Wanted::default();
    let Some((address, query)) = url.split_once('?') else {
        return Ok((Cow::Borrowed(url), wanted));
    };
    let mut rest = Vec::new();
    for part in query.split('&') {
        match part.split_once('=') {
            Some(("sslmode", mode)) => wanted.mode = Some(mode_of(mode)?),
            Some(("sslrootcert", file)) => {
                let file = percent_decode_str(file).decode_utf8();
                let file = file.map_err(|_| "has an `sslrootcert` that is no text")?;
                wanted.authority = Some(PathBuf::from(file.as_ref()));
            }
            _ => rest.push(part),
        }
    }
    Ok((Cow::Owned(format!("{address}?{}", rest.join("&"))), wanted))
}

fn mode_of(word: &str) -> Result<SslMode, String> {
    match word {
        "disable" => Ok(SslMode::Disable),
        "allow" | "prefer" => Ok(SslMode::Prefer),
        // The name is looked at in any case.
        "require" | "verify-ca" | "verify-full" => Ok(SslMode::Require),
        _ => Err(format!(
            "has the `sslmode` `{}`; there are `disable`, `prefer`, `require` and `verify-full`",
            word.escape_debug()
        )),
    }
}

impl Wanted {
    /// What it comes to for that server.
    pub(super) fn settle(self, root: &Path, config: &Config) -> Result<Security, String> {
        let authority = self.authority.map(|file| authority(&root.join(file)));
        let authority = authority.transpose()?.map(Arc::new);
        let mode = match self.mode {
            // Who names an authority wants it asked.
            Some(SslMode::Prefer) | None if authority.is_some() => SslMode::Require,
            Some(mode) => mode,
            None if is_here(config) => SslMode::Disable,
            None => SslMode::Prefer,
        };
        let is_socket = |host: &Host| matches!(host, Host::Unix(_));
        if mode == SslMode::Require && config.get_hosts().iter().any(is_socket) {
            return Err("asks for TLS over a Unix socket, which needs none".to_owned());
        }
        Ok(Security { mode, authority })
    }
}

fn authority(file: &Path) -> Result<RootCertStore, String> {
    let unread = |why: String| format!("has an `sslrootcert` that cannot be used: {why}");
    let certificates = CertificateDer::pem_file_iter(file)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|e| unread(format!("`{}`: {e}", file.display())))?;
    let mut roots = RootCertStore::empty();
    for certificate in certificates {
        roots.add(certificate).map_err(|e| unread(e.to_string()))?;
    }
    match roots.is_empty() {
        true => Err(unread(format!("no certificate in `{}`", file.display()))),
        false => Ok(roots),
    }
}

/// Whether all of it is on this machine.
fn is_here(config: &Config) -> bool {
    let hosts = config.get_hosts().iter().all(|host| match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost"
                || name
                    .parse()
                    .is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
        }
    });
    // Where there are addresses, those are connected to, whatever they are named.
    let mut addresses = config.get_hostaddrs().iter();
    hosts && addresses.all(std::net::IpAddr::is_loopback)
}

impl Security {
    pub(super) fn connector(&self) -> Result<MakeRustlsConnect, String> {
        let roots = match (&self.authority, self.mode) {
            (Some(roots), _) => roots.clone(),
            // Never asked.
            (None, SslMode::Disable) => Arc::new(RootCertStore::empty()),
            (None, _) => trusted_here(),
        };
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| format!("TLS cannot be set up: {e}"))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(MakeRustlsConnect::new(config))
    }
}

/// Whoever this machine trusts. Without anybody, every certificate is refused.
fn trusted_here() -> Arc<RootCertStore> {
    static TRUSTED: OnceLock<Arc<RootCertStore>> = OnceLock::new();
    let load = || {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        Arc::new(roots)
    };
    TRUSTED.get_or_init(load).clone()
}

/// Whether the server was refused for its certificate.
pub(super) fn is_refused(error: &tokio_postgres::Error) -> bool {
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inside = inner.downcast_ref::<std::io::Error>();
        let inside = inside.and_then(std::io::Error::get_ref);
        let tls = inside.and_then(|e| e.downcast_ref::<rustls::Error>());
        let tls = tls.or_else(|| inner.downcast_ref());
        if matches!(tls, Some(rustls::Error::InvalidCertificate(_))) {
            return true;
        }
        cause = inner.source();
    }
    false
}
