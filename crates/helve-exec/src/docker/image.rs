//! Which images may run, and which one a name means.
//!
//! An image is named by what is in it: a digest (`busybox@sha256:…`) or, where it was
//! made on this machine and so has none, its id (`sha256:…`). A tag can mean another
//! image tomorrow. It is taken only where the operator says so, and even then the image
//! that it meant when the tool was registered is the one that runs.

use helve_kernel::ToolError;

/// The images that the operator allows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Allowed {
    images: Vec<String>,
    tags: bool,
}

/// How an image is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Naming {
    Id,
    Digest,
    Tag,
}

const SHA256: &str = "sha256:";

/// How that text names an image; `None` if it does not.
pub(crate) fn naming(text: &str) -> Option<Naming> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/:@".contains(c);
    if !text.starts_with(|c: char| c.is_ascii_alphanumeric())
        || !text.chars().all(plain)
        || text.contains("..")
        || text.contains("//")
        || text.ends_with(['/', ':', '@'])
    {
        return None;
    }
    if text.starts_with(SHA256) {
        return is_sha256(text).then_some(Naming::Id);
    }
    match text.split_once('@') {
        Some((_, digest)) => is_sha256(digest).then_some(Naming::Digest),
        None => Some(Naming::Tag),
    }
}

fn is_sha256(text: &str) -> bool {
    let hex = |c: char| matches!(c, '0'..='9' | 'a'..='f');
    let digits = text.strip_prefix(SHA256);
    digits.is_some_and(|digits| digits.len() == 64 && digits.chars().all(hex))
}

impl Allowed {
    pub(crate) fn new(images: Vec<String>, tags: bool) -> Self {
        Self { images, tags }
    }

    /// All of them.
    pub(crate) fn images(&self) -> &[String] {
        &self.images
    }

    /// Whether an image may run.
    pub(crate) fn check(&self, image: &str) -> Result<Naming, ToolError> {
        let Some(naming) = naming(image) else {
            return Err(
                ToolError::validation(format!("`{image}` is no name of an image"))
                    .with_hint("write it like `busybox@sha256:…`, with all 64 digits"),
            );
        };
        if naming == Naming::Tag && !self.tags {
            return Err(ToolError::validation(format!(
                "the image `{image}` is named by a tag, which can mean another image tomorrow"
            ))
            .with_hint(by_digest(image)));
        }
        if !self.images.iter().any(|allowed| allowed == image) {
            return Err(ToolError::permission(format!(
                "the image `{image}` is not among those that may run here"
            ))
            .with_hint("an operator adds it to `images` under `[docker]` in `helve.toml`"));
        }
        Ok(naming)
    }
}

/// How to get from a tag to what it means now.
fn by_digest(image: &str) -> String {
    format!(
        "`docker image inspect --format '{{{{.RepoDigests}}}} {{{{.Id}}}}' {image}` tells its \
         digest, or its id where it has none: name it by that"
    )
}

/// That an image is not there.
pub(crate) fn missing(image: &str) -> ToolError {
    let error = ToolError::dependency(format!("the image `{image}` is not on this machine"));
    error.with_hint(match naming(image) {
        Some(Naming::Id) => {
            "`docker load` or `docker import` it; Helve fetches no image".to_owned()
        }
        _ => format!("`docker pull {image}`; Helve fetches no image by itself"),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use helve_kernel::ErrorKind;

    use super::*;

    fn digits() -> String {
        "0123456789abcdef".repeat(4)
    }

    #[test]
    fn names() {
        let hex = digits();
        for (text, wanted) in [
            (format!("sha256:{hex}"), Some(Naming::Id)),
            (format!("busybox@sha256:{hex}"), Some(Naming::Digest)),
            (
                format!("host.org:5000/a/b:1@sha256:{hex}"),
                Some(Naming::Digest),
            ),
            ("busybox".to_owned(), Some(Naming::Tag)),
            ("busybox:1.36".to_owned(), Some(Naming::Tag)),
            (format!("sha256:{}", &hex[1..]), None),
            (format!("sha256:{}", hex.to_uppercase()), None),
            ("busybox@sha256:12".to_owned(), None),
            ("busybox@md5:12".to_owned(), None),
            ("../x".to_owned(), None),
            ("a/../b".to_owned(), None),
            ("a?b".to_owned(), None),
            ("a b".to_owned(), None),
            ("-v".to_owned(), None),
            (String::new(), None),
        ] {
            assert_eq!(naming(&text), wanted, "{text}");
        }
    }

    #[test]
    fn only_what_is_listed() {
        let id = format!("sha256:{}", digits());
        let digest = format!("busybox@sha256:{}", digits());
        let listed = vec![id.clone(), digest.clone(), "busybox:1".to_owned()];
        let strict = Allowed::new(listed.clone(), false);
        let lax = Allowed::new(listed, true);
        let none = Allowed::default();
        let other = format!("sha256:{}", "0".repeat(64));
        for (allowed, image, wanted) in [
            (&strict, id.as_str(), None),
            (&strict, &digest, None),
            (&strict, "busybox:1", Some(ErrorKind::Validation)),
            (&lax, "busybox:1", None),
            (&lax, "busybox:2", Some(ErrorKind::Permission)),
            (&lax, "busybox", Some(ErrorKind::Permission)),
            (&strict, &other, Some(ErrorKind::Permission)),
            (&none, &id, Some(ErrorKind::Permission)),
            (&lax, "a b", Some(ErrorKind::Validation)),
        ] {
            let found = allowed.check(image).err().map(|e| e.kind);
            assert_eq!(found, wanted, "{image}");
        }
        let hint = strict.check("busybox:1").unwrap_err().hint.unwrap();
        assert!(
            hint.contains("docker image inspect") && hint.contains("{{.Id}}"),
            "{hint}"
        );
    }
}
