use serde_json::json;

use super::*;

fn thrown_as(error: Value) -> ToolError {
    thrown(serde_json::from_value(error).unwrap())
}

#[test]
fn an_error_has_its_kind_and_its_place() {
    let error = thrown_as(json!({"message": "no", "type": "validation", "hint": "do"}));
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ErrorKind::Validation, "no")
    );
    assert_eq!(error.hint.as_deref(), Some("do"));
    let error = thrown_as(json!({"message": "no", "type": "strange", "name": "KeyError"}));
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ErrorKind::Internal, "KeyError: no")
    );
    let error = thrown_as(json!({"message": " ", "stack": "x".repeat(5000)}));
    assert_eq!(error.message, "the tool threw an error without a message");
    assert!(error.hint.unwrap().len() < 1600);
}
