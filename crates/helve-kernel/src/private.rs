//! What the code that `#[tool]` writes calls at run time.
//!
//! Kept here, and not in the generated code, so that what a user's crate compiles
//! stays small and an error in it points at the user's own types.

use std::marker::PhantomData;

use helve_core::ToolName;
use helve_core::marked::{Mark, marks};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::schema;
use crate::{Illustrated, Reply, Sourced, ToolError};

/// A name that the macro has found canonical.
pub fn name(name: &'static str) -> ToolName {
    ToolName::new(name).expect("the macro refuses a name that is not canonical")
}

/// A version that the macro has found sound.
pub fn version(version: &'static str) -> semver::Version {
    semver::Version::parse(version).expect("the macro refuses a version that is none")
}

/// The schema of a tool's arguments.
pub fn input_schema<T: Arguments>() -> Value {
    schema::input_schema::<T>()
}

/// Whether an error may show the value that caused it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// It may.
    Value,
    /// Only where it stands: one of the arguments is secret.
    Place,
}

impl Shown {
    /// What a schema allows: nothing of an argument, once one is marked as secret.
    pub fn of(schema: &Value) -> Self {
        match marks(schema, Mark::Secret) {
            true => Self::Place,
            false => Self::Value,
        }
    }
}

/// Reads the arguments, or says which of them is wrong. None at all is an empty
/// object.
pub fn arguments<T: Arguments>(args: Value, shown: Shown) -> Result<T, ToolError> {
    let args = match args {
        Value::Object(args) => args,
        Value::Null => Map::new(),
        _ => return Err(ToolError::validation("arguments must be an object")),
    };
    serde_path_to_error::deserialize(Value::Object(args)).map_err(|error| {
        let path = error.path().to_string();
        let problem = error.into_inner().to_string();
        let names_only = ["missing field", "unknown field"]
            .iter()
            .any(|p| problem.starts_with(p));
        ToolError::validation(match path.as_str() {
            "." if shown == Shown::Value || names_only => problem,
            "." => "the arguments do not fit their schema".to_owned(),
            _ if shown == Shown::Value || names_only => format!("argument `{path}`: {problem}"),
            _ => format!("argument `{path}` does not fit its schema"),
        })
    })
}

/// What all arguments together can be.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot hold the arguments of a tool",
    label = "cannot be read from arguments",
    note = "derive `serde::Deserialize` and `schemars::JsonSchema` for `{Self}`"
)]
pub trait Arguments: DeserializeOwned + JsonSchema {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema> Arguments for T {}

/// What a tool can answer.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the result of a tool",
    label = "cannot be written as JSON",
    note = "derive `serde::Serialize` for `{Self}`"
)]
pub trait Answerable {
    /// The answer.
    fn reply(self) -> Result<Reply, ToolError>;
}

#[diagnostic::do_not_recommend]
impl<T: Serialize> Answerable for T {
    fn reply(self) -> Result<Reply, ToolError> {
        serde_json::to_value(self)
            .map(Reply::new)
            .map_err(|e| ToolError::internal(format!("the result cannot be written as JSON: {e}")))
    }
}

/// A tool that writes into the context says so itself.
impl Answerable for Reply {
    fn reply(self) -> Result<Reply, ToolError> {
        Ok(self)
    }
}

/// A result that is shown with something beside it.
impl<T: Serialize> Answerable for Illustrated<T> {
    fn reply(self) -> Result<Reply, ToolError> {
        let reply = self.data.reply()?;
        Ok(Reply {
            content: self.content,
            ..reply
        })
    }
}

/// A result with what is to be known about it.
impl<T: Serialize> Answerable for Sourced<T> {
    fn reply(self) -> Result<Reply, ToolError> {
        let reply = self.data.reply()?;
        Ok(Reply {
            about: self.about,
            ..reply
        })
    }
}

/// How a tool can fail.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the error of a tool",
    label = "does not become a `ToolError`",
    note = "write `impl From<{Self}> for ToolError`, or return a `ToolError`"
)]
pub trait Failure {
    /// The same as every tool says it.
    fn told(self) -> ToolError;
}

#[diagnostic::do_not_recommend]
impl<E: Into<ToolError>> Failure for E {
    fn told(self) -> ToolError {
        self.into()
    }
}

/// A result whose schema is asked for.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no schema for `output`",
    label = "no schema",
    note = "derive `schemars::JsonSchema` for `{Self}`, or remove `output`"
)]
pub trait Described {
    /// The schema.
    fn schema() -> Value;
}

#[diagnostic::do_not_recommend]
impl<T: JsonSchema> Described for T {
    fn schema() -> Value {
        schema::output_schema::<T>()
    }
}

impl<T: JsonSchema> Described for Illustrated<T> {
    fn schema() -> Value {
        schema::output_schema::<T>()
    }
}

impl<T: JsonSchema> Described for Sourced<T> {
    fn schema() -> Value {
        schema::output_schema::<T>()
    }
}

/// What a tool function gave back. A `Result` has the inherent method, anything
/// else that of [`Plain`]: the bounds stand on the methods, so a `Result` that
/// cannot be answered is an error and never taken for a plain value.
pub struct Answer<T>(pub T);

impl<T, E> Answer<Result<T, E>> {
    /// The answer.
    pub fn give(self) -> Result<Reply, ToolError>
    where
        T: Answerable,
        E: Failure,
    {
        self.0.map_err(Failure::told)?.reply()
    }
}

/// What a tool function that cannot fail gave back.
pub trait Plain {
    /// Its type.
    type Given;

    /// The answer.
    fn give(self) -> Result<Reply, ToolError>
    where
        Self::Given: Answerable;
}

impl<T> Plain for Answer<T> {
    type Given = T;

    fn give(self) -> Result<Reply, ToolError>
    where
        T: Answerable,
    {
        self.0.reply()
    }
}

/// The return type of a tool function, told apart as by [`Answer`].
pub struct Returned<T>(PhantomData<fn() -> T>);

impl<T> Returned<T> {
    /// The type, without a value of it.
    #[expect(clippy::new_without_default, reason = "only generated code makes one")]
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T, E> Returned<Result<T, E>> {
    /// The schema of what it gives when all goes well.
    pub fn output_schema(&self) -> Value
    where
        T: Described,
    {
        T::schema()
    }
}

/// The return type of a tool function that cannot fail.
pub trait ReturnedPlain {
    /// The type.
    type Given;

    /// Its schema.
    fn output_schema(&self) -> Value
    where
        Self::Given: Described;
}

impl<T> ReturnedPlain for Returned<T> {
    type Given = T;

    fn output_schema(&self) -> Value
    where
        T: Described,
    {
        T::schema()
    }
}
