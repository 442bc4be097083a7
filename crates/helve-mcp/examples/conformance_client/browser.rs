//! A browser, as far as a login needs one.

use crate::Outcome;

/// Follows the link and says yes; the last redirect leads back to the gateway.
pub(crate) async fn agree(link: &str) -> Outcome<()> {
    // Whether the gateway is content shows in its status, not on the page.
    reqwest::Client::builder()
        .no_proxy()
        .build()?
        .get(link)
        .send()
        .await?;
    Ok(())
}
