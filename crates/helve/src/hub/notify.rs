//! Tells people of approvals: a signed POST to an address of their choice.

use std::time::Duration;

use async_trait::async_trait;
use helve_core::audit::canonical;
use helve_core::secret::hmac_of;
use helve_kernel::{Approval, Notifier};
use serde_json::json;

use crate::exit::Failure;

/// An address that is told.
pub(crate) struct Webhook {
    url: String,
    key: [u8; 32],
    client: reqwest::Client,
}

/// How long it may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

impl Webhook {
    pub(crate) fn new(url: String, key: [u8; 32]) -> Result<Self, Failure> {
        // A redirect could lead the arguments of a call to somebody else.
        let client = reqwest::Client::builder()
            .timeout(PATIENCE)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .build()
            .map_err(|e| Failure::output(format!("the webhook cannot be used: {e}")))?;
        Ok(Self { url, key, client })
    }
}

#[async_trait]
impl Notifier for Webhook {
    async fn asked(&self, approval: &Approval) -> Result<(), String> {
        let told = json!({
            "event": "approval.asked",
            "approval_id": approval.id.as_str(),
            "run_id": approval.run.as_str(),
            "tool": approval.tool,
            "version": approval.version,
            "args": approval.args,
            "requester": approval.requester,
            "reason": approval.reason,
            "needed": approval.needed,
            "expires": approval.expires.to_string(),
        });
        let body = canonical(&told).map_err(|e| e.to_string())?;
        let sent = self
            .client
            .post(&self.url)
            .header("content-type", "application/json")
            .header(
                "helve-signature",
                format!("hmac-sha256={}", hmac_of(&self.key, &told)),
            )
            .body(body)
            .send()
            .await
            // The address may hold a secret of its own.
            .map_err(|e| e.without_url().to_string())?;
        match sent.status().is_success() {
            true => Ok(()),
            false => Err(format!("it answered {}", sent.status())),
        }
    }
}
