//! Whose records a call sees: those of the person who answers for it.
//!
//! An agent works for somebody, and what it notes is theirs: two agents of one person see
//! the same list, and nobody sees another's.

use helve_kernel::{Ctx, ToolError};

/// The person who answers for a call.
pub(crate) fn owner(ctx: &Ctx) -> Result<&str, ToolError> {
    let who = ctx.who();
    let person = who.map(|who| who.under.as_deref().unwrap_or(&who.owner));
    person.ok_or_else(|| ToolError::internal("nobody is known to have called"))
}

/// The name of a collection of theirs.
pub(crate) fn collection(ctx: &Ctx, name: &str) -> Result<String, ToolError> {
    Ok(format!("{name}:{}", owner(ctx)?))
}
