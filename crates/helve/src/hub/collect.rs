//! Lets go of what was there before runs, once its time is over.

use std::time::Duration;

use helve_kernel::{Keeping, Kernel};
use tokio_util::sync::CancellationToken;

use crate::out;

/// How often.
const PAUSE: Duration = Duration::from_secs(3600);

/// How soon again, where something was in the way.
const SOON: Duration = Duration::from_secs(60);

/// At the start, and once an hour.
pub(crate) async fn tick(kernel: Kernel, keeping: Keeping, closing: CancellationToken) {
    loop {
        let pause = match kernel.collect(keeping).await {
            Ok(_) => PAUSE,
            // A run is at it just now.
            Err(error) if error.retryable() => SOON,
            Err(error) => {
                let problem = out::visible(&error.message);
                out::warn(&format!("old changes could not be let go: {problem}"));
                PAUSE
            }
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = closing.cancelled() => return,
        }
    }
}
