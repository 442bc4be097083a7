use super::*;
use crate::tool;
use crate::tool::tests::sound;

/// Reads. Use it to read.
#[tool(group = "file", tags = ["own"])]
async fn read() {}

mod other {
    /// Writes. Use it to write.
    #[crate::tool(group = "file", aliases = ["save"])]
    pub(super) async fn write() {}

    /// Saves. Use it to save.
    #[crate::tool]
    pub(super) async fn save() {}
}

#[test]
fn tags_go_to_tools_that_have_none() {
    let set = toolset! {
        name: "file",
        description: "Files.",
        tags: ["files", String::from("disk")],
        tools: [read, other::write],
    };
    let set = set.expect("different names");
    assert_eq!((set.name(), set.description()), ("file", Some("Files.")));
    assert_eq!(set.tags(), ["files", "disk"]);
    sound::<read>();
    sound::<other::write>();
    sound::<other::save>();
    let tags: Vec<_> = set.tools().iter().map(|t| t.def.tags.clone()).collect();
    assert_eq!(tags, [vec!["own"], vec!["files", "disk"]]);
    let names: Vec<_> = set
        .into_tools()
        .into_iter()
        .map(|t| t.def.name.to_string())
        .collect();
    assert_eq!(names, ["file_read", "file_write"]);
}

#[test]
fn a_set_needs_only_a_name() {
    use other::write;
    let set = toolset! { name: "file", tools: [write] }.expect("one tool");
    assert_eq!((set.description(), set.tags().len()), (None, 0));
    assert!(set.tools()[0].def.tags.is_empty());
    let none = toolset! { name: "none", tools: [] }.expect("no tools");
    assert!(none.tools().is_empty());
}

#[test]
fn one_name_is_one_tool() {
    let error = |set: Result<Toolset, ToolsetError>| set.expect_err("a name twice");
    let twice = error(toolset! { name: "file", tools: [read, other::write, read] });
    assert_eq!(
        twice.to_string(),
        "toolset `file`: `file_read` answers to `file_read`, and so does a tool before it; rename \
         one of the two, or remove the alias"
    );
    let wanted = ToolsetError::DuplicateName {
        toolset: "file".to_owned(),
        tool: "save".to_owned(),
        name: "save".to_owned(),
    };
    assert_eq!(
        error(toolset! { name: "file", tools: [other::write, other::save] }),
        wanted
    );
    let back = error(toolset! { name: "file", tools: [other::save, other::write] });
    let ToolsetError::DuplicateName { tool, name, .. } = back;
    assert_eq!((tool.as_str(), name.as_str()), ("file_write", "save"));
}
