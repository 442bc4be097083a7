//! Lets go of what was there before runs, once its time is over.

use std::time::Duration;

use helve_kernel::{Keeping, Kernel};
use tokio_util::sync::CancellationToken;

use crate::out;

/// How often.
const PAUSE: Duration = Duration::from_secs(3600);

/// At the start, and once an hour.
pub(crate) async fn tick(kernel: Kernel, keeping: Keeping, closing: CancellationToken) {
    loop {
        if let Err(error) = kernel.collect(keeping).await {
            let problem = out::visible(&error.message);
            out::warn(&format!("old changes could not be let go: {problem}"));
        }
        tokio::select! {
            () = tokio::time::sleep(PAUSE) => {}
            () = closing.cancelled() => return,
        }
    }
}
