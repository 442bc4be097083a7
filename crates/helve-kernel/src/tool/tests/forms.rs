//! Parameters, results and failures.

use super::*;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Greeting {
    /// Whom to greet.
    name: String,
    /// How loud.
    #[serde(default)]
    loud: bool,
}

/// Greets. Use it first.
#[tool]
async fn in_a_struct(args: Greeting) -> String {
    format!("{}{}", args.name, if args.loud { "!" } else { "" })
}

/// Greets for someone. Use it first.
#[tool]
async fn with_ctx_in_a_struct(ctx: &Ctx, args: Greeting) -> Result<String, ToolError> {
    let from = ctx
        .principal()
        .ok_or_else(|| ToolError::internal("nobody"))?;
    Ok(format!("{from} to {}", args.name))
}

/// Adds. Use it for sums.
#[tool]
async fn one_by_one(
    /// The first.
    a: i64,
    /// The second.
    #[default(10)]
    b: i64,
    /// The third.
    c: Option<i64>,
) -> i64 {
    a + b + c.unwrap_or_default()
}

/// Counts for someone. Use it for lengths.
#[tool]
async fn with_ctx_one_by_one(
    ctx: &crate::Ctx,
    /// The text.
    #[default("none")]
    mut text: String,
    /// A word that the language keeps for itself.
    r#type: Option<String>,
) -> Result<Value, ToolError> {
    text.push('.');
    Ok(json!({"who": ctx.principal(), "text": text, "type": r#type}))
}

/// Does nothing. Use it never.
#[tool]
async fn with_nothing() {}

/// Says who calls. Use it when in doubt.
#[tool]
async fn with_ctx_alone(ctx: &Ctx) -> Option<String> {
    ctx.principal().map(str::to_owned)
}

/// Reads something that is not there. Use it to fail.
#[tool]
async fn with_a_foreign_error() -> std::io::Result<String> {
    std::fs::read_to_string("/nowhere/at/all")
}

type Outcome = Result<u8, ToolError>;

/// Fails under another name. Use it to fail.
#[tool]
async fn with_a_result_by_alias() -> Outcome {
    Err(ToolError::conflict("changed by another"))
}

/// Gives something it does not name. Use it to see.
#[tool]
async fn with_an_unnamed_type() -> Result<impl Serialize, ToolError> {
    Ok([1, 2])
}

/// Signs in. Use it before anything else.
#[tool]
async fn with_a_secret(
    /// The password.
    #[secret]
    password: u32,
) -> bool {
    password == 7
}

#[derive(Deserialize, JsonSchema)]
struct SignIn {
    /// The number on the card.
    #[schemars(extend("writeOnly" = true))]
    pin: u32,
}

/// Signs in with a card. Use it before anything else.
#[tool]
async fn with_a_secret_in_a_struct(args: SignIn) -> bool {
    args.pin == 7
}

#[test]
fn every_form_is_called_with_what_it_takes() {
    type Call = fn(Value) -> Result<Value, ToolError>;
    let rows: [(Call, Value, Value); 11] = [
        (
            call::<in_a_struct>,
            json!({"name": "bo", "loud": true}),
            json!("bo!"),
        ),
        (
            call::<with_ctx_in_a_struct>,
            json!({"name": "bo"}),
            json!("ann to bo"),
        ),
        (call::<one_by_one>, json!({"a": 1}), json!(11)),
        (
            call::<one_by_one>,
            json!({"a": 1, "b": 2, "c": 3}),
            json!(6),
        ),
        (
            call::<with_ctx_one_by_one>,
            json!({"type": "x"}),
            json!({"who": "ann", "text": "none.", "type": "x"}),
        ),
        (call::<with_nothing>, json!({}), Value::Null),
        (call::<with_nothing>, Value::Null, Value::Null),
        (call::<with_ctx_alone>, json!({}), json!("ann")),
        (call::<with_an_unnamed_type>, json!({}), json!([1, 2])),
        (call::<with_a_secret>, json!({"password": 7}), json!(true)),
        (call::<with_a_secret>, json!({"password": 8}), json!(false)),
    ];
    for (call, args, wanted) in rows {
        assert_eq!(call(args.clone()), Ok(wanted), "{args}");
    }
}

#[test]
fn a_function_stays_a_function() {
    assert_eq!(block_on(one_by_one(1, 2, None)), 3);
    block_on(with_nothing());
}

#[test]
fn a_failure_keeps_its_kind_and_is_never_an_answer() {
    let error = call::<with_a_foreign_error>(json!({})).expect_err("no such file");
    assert_eq!(error.kind, crate::ErrorKind::NotFound);
    let error = call::<with_a_result_by_alias>(json!({}));
    assert_eq!(error, Err(ToolError::conflict("changed by another")));
}

#[test]
fn wrong_arguments_are_refused_by_name() {
    type Call = fn(Value) -> Result<Value, ToolError>;
    let rows: [(Call, Value, &str); 11] = [
        (call::<one_by_one>, json!({}), "missing field `a`"),
        (
            call::<one_by_one>,
            json!({"a": "x"}),
            "argument `a`: invalid type: string \"x\", expected i64",
        ),
        (
            call::<one_by_one>,
            json!({"a": 1, "d": 2}),
            "argument `d`: unknown field `d`, expected one of `a`, `b`, `c`",
        ),
        (
            call::<one_by_one>,
            json!([1]),
            "arguments must be an object",
        ),
        (
            call::<in_a_struct>,
            json!({"name": 1}),
            "argument `name`: invalid type: integer `1`, expected a string",
        ),
        (
            call::<with_nothing>,
            json!({"a": 1}),
            "argument `a`: unknown field `a`, there are no fields",
        ),
        (
            call::<with_ctx_alone>,
            json!("x"),
            "arguments must be an object",
        ),
        (
            call::<with_a_secret>,
            json!({"password": "hunter2"}),
            "argument `password` does not fit its schema",
        ),
        (
            call::<with_a_secret_in_a_struct>,
            json!({"pin": "hunter2"}),
            "argument `pin` does not fit its schema",
        ),
        (
            call::<with_a_secret>,
            json!({"user": "ann"}),
            "argument `user`: unknown field `user`, expected `password`",
        ),
        (call::<with_a_secret>, json!({}), "missing field `password`"),
    ];
    for (call, args, wanted) in rows {
        assert_eq!(
            call(args.clone()),
            Err(ToolError::validation(wanted)),
            "{args}"
        );
    }
}

#[test]
fn a_handler_can_be_written_by_hand() {
    let def = ToolDef::new(crate::ToolName::new("echo").expect("a name"), "Echoes.");
    let echo = Tool::new(def, async |_, args| Ok(args));
    let answer = block_on((echo.handler)(Ctx::default(), json!({"a": 1})));
    assert_eq!(answer, Ok(crate::Reply::new(json!({"a": 1}))));
}
