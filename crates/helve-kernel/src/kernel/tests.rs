//! The one path, walked in every way: what must come of a call, and what must not.

mod approvals;
mod arguments;
mod batch;
mod cancel;
mod changes;
mod failing;
mod filters;
mod harness;
mod idempotency;
mod notices;
mod path;
mod paths;
mod policy;
mod quick;
mod record;
mod recovery;
mod registry;
mod restart;
mod results;
mod retry_timeout;
mod rows;
mod secrets;
mod tokens;
