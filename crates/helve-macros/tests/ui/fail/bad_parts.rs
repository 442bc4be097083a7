#![allow(unused)]

use helve_kernel::tool;

/// Retries.
#[tool(retry = 3)]
async fn a() {}

/// Retries too often.
#[tool(retry(max = 101))]
async fn b() {}

/// Retries too late.
#[tool(retry(delay_ms = 3600001))]
async fn c() {}

/// Retries somehow.
#[tool(retry(dealy_ms = 1))]
async fn d() {}

/// Needs nothing in particular.
#[tool(prerequisites = [{check_tool = "b"}])]
async fn e() {}

/// Needs something else.
#[tool(prerequisites = ["a", {condition = "b", chek_tool = "c"}, 5])]
async fn f() {}

/// Is related.
#[tool(related = [("a", "b", "c")])]
async fn g() {}

/// Is related to a number.
#[tool(related = ["a", 5])]
async fn h() {}

/// Has an example.
#[tool(example = "a")]
async fn i() {}

/// Has an example without arguments.
#[tool(example(scenario = "a"))]
async fn j() {}

/// Has an example with a list.
#[tool(example(params = [1]))]
async fn k() {}

/// Has an example with too much.
#[tool(example(params = {}, params = {}))]
async fn l() {}

/// Has an example of something.
#[tool(example(parms = {}))]
async fn m() {}

fn main() {}
