//! Taking apart what strangers wrote, beside everything else and not for ever.
//!
//! It is done on a thread of its own with room for deep trees. Whoever waits, waits for a time;
//! the thread cannot be ended, so only a few of them go on at once.

use std::sync::{Arc, LazyLock};

use helve_kernel::ToolError;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{Instant, timeout_at};

/// How many go on at once.
const AT_ONCE: usize = 4;

/// Room for deep trees; only what is used of it is taken.
pub(super) const STACK: usize = 64 << 20;

static ROOM: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(AT_ONCE)));

/// Does something, and waits for it until then.
pub(super) async fn done<T: Send + 'static>(
    until: Instant,
    what: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ToolError> {
    let late = |_| {
        ToolError::timeout("the page came, and could not be taken apart in time")
            .with_hint("`format: \"raw\"` gives it as it is")
    };
    let room = timeout_at(until, ROOM.clone().acquire_owned())
        .await
        .map_err(late)?;
    let (tell, told) = oneshot::channel();
    let thread = std::thread::Builder::new()
        .name("web".to_owned())
        .stack_size(STACK);
    let started = thread.spawn(move || {
        let _room = room;
        // Nobody waits any more if this fails.
        let _ = tell.send(what());
    });
    started.map_err(|e| ToolError::internal(format!("no thread can be started: {e}")))?;
    let told = timeout_at(until, told).await.map_err(late)?;
    told.map_err(|_| ToolError::dependency("the page cannot be taken apart"))
}
