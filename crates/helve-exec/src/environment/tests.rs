//! What is set, what is not, and what is refused.

#![allow(clippy::needless_pass_by_value, clippy::unwrap_used)]

use serde_json::json;

use super::*;

fn set(env: &[(&str, &str)], args: Value) -> Vec<(String, String)> {
    let env = owned(env);
    let args = args.as_object().unwrap();
    let properties: Vec<&str> = args.keys().map(String::as_str).collect();
    variables(&env, &properties, args, "run_1", "a_tool")
}

fn owned(env: &[(&str, &str)]) -> Vec<(String, String)> {
    let pairs = env.iter();
    pairs
        .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
        .collect()
}

#[test]
fn all_of_it() {
    let args = json!({"path": "a b; $(id)", "max-count": 3, "ünï": true, "list": ["x"]});
    let found = set(&[("TZ", "UTC"), ("HOME", "/srv")], args);
    let wanted = owned(&[
        (
            "PATH",
            "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
        ),
        ("HOME", "/nonexistent"),
        ("LANG", "C.UTF-8"),
        ("TZ", "UTC"),
        ("HOME", "/srv"),
        ("ARG_PATH", "a b; $(id)"),
        ("ARG_MAX_COUNT", "3"),
        ("ARG__N_", "true"),
        ("ARG_LIST", r#"["x"]"#),
        ("HELVE_RUN_ID", "run_1"),
        ("HELVE_TOOL", "a_tool"),
    ]);
    assert_eq!(found, wanted);
}

#[test]
fn what_no_variable_can_hold_is_not_set() {
    let most = LONGEST - "ARG_A=".len();
    let table = [
        ("a\0b".to_owned(), false),
        ("x".repeat(most + 1), false),
        ("x".repeat(most), true),
    ];
    for (value, is_set) in table {
        let found = set(&[], json!({"a": value}));
        assert_eq!(found.iter().any(|(n, _)| n == "ARG_A"), is_set);
    }
    // Many that are small enough, and too much together.
    let args: Map<String, Value> = (0..50)
        .map(|i| (format!("a{i}"), "x".repeat(100_000).into()))
        .collect();
    let found = set(&[], Value::Object(args));
    let sum: usize = found.iter().map(|(n, v)| n.len() + v.len()).sum();
    assert!((1_000_000..ALL + 200).contains(&sum), "{sum}");
}

/// An argument that the schema does not name cannot take the place of one that it does.
#[test]
fn only_named_arguments_are_set() {
    let args = json!({"a_b": "declared", "a-b": "planted", "other": "x"});
    let found = variables(&[], &["a_b"], args.as_object().unwrap(), "r", "t");
    let args: Vec<_> = found
        .iter()
        .filter(|(n, _)| n.starts_with("ARG_"))
        .collect();
    assert_eq!(args, [&("ARG_A_B".to_owned(), "declared".to_owned())]);
}

#[test]
fn what_a_definition_may_not_set() {
    let table: &[(&str, &str, Option<&str>)] = &[
        ("TZ", "UTC", None),
        ("PATHS", "x", None),
        ("HOME", "/srv", None),
        ("PATH", "/tmp", Some("fixed folders")),
        ("LD_PRELOAD", "x.so", Some("loaded")),
        ("LD_LIBRARY_PATH", "/tmp", Some("loaded")),
        ("ARG_X", "1", Some("`ARG_`")),
        ("HELVE_RUN_ID", "1", Some("`HELVE_`")),
        ("", "1", Some("no name")),
        ("A=B", "1", Some("character")),
        ("A", "a\0b", Some("NUL")),
    ];
    for (name, value, says) in table {
        let found = check(&owned(&[(name, value)]), &[]);
        let found = found.map_err(|e| e.message);
        match says {
            None => assert_eq!(found, Ok(())),
            Some(says) => assert!(found.unwrap_err().contains(says)),
        }
    }
}

#[test]
fn two_arguments_of_one_variable() {
    assert_eq!(check(&[], &["a", "b", "a1"]), Ok(()));
    for pair in [["a-b", "a_b"], ["Name", "name"], ["ä", "ö"]] {
        let error = check(&[], &pair).unwrap_err();
        assert!(error.message.contains(pair[0]) && error.message.contains(pair[1]));
    }
}
