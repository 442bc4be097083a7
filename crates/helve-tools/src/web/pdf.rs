//! The text of a PDF.
//!
//! A PDF is a program for a page, and a stranger's. What it unpacks to is limited, a panic of
//! the reader is an error, and whoever waits for it does not wait for long ([`super::work`]).

/// The most that what stands in a PDF may unpack to.
#[cfg(feature = "web")]
const UNPACKED: usize = 32 << 20;

/// The most text that is taken of one.
#[cfg(feature = "web")]
const TEXT: usize = 8 << 20;

/// The most pages that are read.
#[cfg(feature = "web")]
const PAGES: usize = 2_000;

/// The text of all pages, or why there is none.
#[cfg(feature = "web")]
pub(super) fn read(bytes: &[u8]) -> Result<String, String> {
    use lopdf::{Document, LoadOptions};

    let read = std::panic::catch_unwind(|| {
        let options = LoadOptions {
            max_decompressed_size: Some(UNPACKED),
            ..LoadOptions::default()
        };
        let broken = |e: lopdf::Error| format!("it is broken: {e}");
        let document = Document::load_mem_with_options(bytes, options).map_err(broken)?;
        if document.is_encrypted() && document.encryption_state.is_none() {
            return Err("it is locked with a password".to_owned());
        }
        let mut text = String::new();
        for page in document.get_pages().keys().take(PAGES) {
            // A page that cannot be read does not take the others with it.
            let page = document.extract_text_with_limit(&[*page], UNPACKED);
            text.push_str(page.unwrap_or_default().trim_end());
            text.push_str("\n\n");
            if text.len() > TEXT {
                break;
            }
        }
        Ok(super::tidy::tidy(&text))
    });
    read.unwrap_or_else(|_| Err("it cannot be read".to_owned()))
}

/// The text of all pages, or why there is none.
#[cfg(not(feature = "web"))]
pub(super) fn read(_: &[u8]) -> Result<String, String> {
    Err("this hub was built without what reads it".to_owned())
}
