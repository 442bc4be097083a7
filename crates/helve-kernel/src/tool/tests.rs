//! Every form of a tool function, called as the kernel will call it.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use helve_core::lint::{self, Severity};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{Ctx, DefineTool, Tool, ToolDef, ToolError, tool};

mod definition;
mod forms;

/// Runs a future that never waits for anything outside.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
    }
}

/// The definition of a tool that a hub would take.
pub(crate) fn sound<T: DefineTool>() -> ToolDef {
    let def = T::tool().def;
    let issues = lint::check(&def, &lint::Context::default());
    let errors: Vec<_> = issues
        .iter()
        .filter(|i| i.rule.severity == Severity::Error)
        .collect();
    assert!(errors.is_empty(), "{}: {errors:?}", def.name);
    let again = ToolDef::from_value(&def.to_value());
    assert_eq!(again.as_ref(), Ok(&def), "reads back as it was written");
    def
}

fn call<T: DefineTool>(args: Value) -> Result<Value, ToolError> {
    sound::<T>();
    let ctx = Ctx::builder().principal("ann").build();
    block_on((T::tool().handler)(ctx, args)).map(|reply| reply.data)
}
