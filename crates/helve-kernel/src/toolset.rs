//! Tools that ship together, with what they have in common.
//!
//! A [`Toolset`] holds no two tools that answer to one name, and no tool without
//! tags if it has tags to give.

use std::collections::HashSet;

use crate::Tool;

/// Tools that ship together.
#[derive(Debug, Clone)]
pub struct Toolset {
    name: String,
    description: Option<String>,
    tags: Vec<String>,
    tools: Vec<Tool>,
}

/// Why tools cannot be one set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolsetError {
    /// Two tools answer to one name.
    #[error(
        "toolset `{toolset}`: `{tool}` answers to `{name}`, and so does a tool before it; rename \
         one of the two, or remove the alias"
    )]
    DuplicateName {
        /// The set.
        toolset: String,
        /// The second tool.
        tool: String,
        /// The name or alias that both have.
        name: String,
    },
}

impl Toolset {
    /// Joins tools into a set. Its tags go to the tools that have none.
    pub fn new(
        name: impl Into<String>,
        description: Option<String>,
        tags: Vec<String>,
        mut tools: Vec<Tool>,
    ) -> Result<Self, ToolsetError> {
        let name = name.into();
        refuse_duplicates(&name, &tools)?;
        for tool in &mut tools {
            if tool.def.tags.is_empty() {
                tool.def.tags.clone_from(&tags);
            }
        }
        Ok(Self {
            name,
            description,
            tags,
            tools,
        })
    }

    /// What the set is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What its tools are for.
    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    /// The tags of the tools that have none of their own.
    pub fn tags(&self) -> &[String] {
        &self.tags
    }

    /// The tools, in the order given.
    pub fn tools(&self) -> &[Tool] {
        &self.tools
    }

    /// The tools alone.
    pub fn into_tools(self) -> Vec<Tool> {
        self.tools
    }
}

fn refuse_duplicates(toolset: &str, tools: &[Tool]) -> Result<(), ToolsetError> {
    let mut taken = HashSet::new();
    for tool in tools {
        let aliases = tool.def.aliases.iter().map(String::as_str);
        let names: HashSet<&str> = aliases.chain([tool.def.name.as_str()]).collect();
        let mut twice: Vec<&&str> = names.intersection(&taken).collect();
        twice.sort();
        if let Some(name) = twice.first() {
            return Err(ToolsetError::DuplicateName {
                toolset: toolset.to_owned(),
                tool: tool.def.name.to_string(),
                name: (**name).to_owned(),
            });
        }
        taken.extend(names);
    }
    Ok(())
}

/// Joins functions marked with [`tool`](crate::tool) into a [`Toolset`]: a
/// `Result`, because two of them may have one name.
///
/// ```
/// # mod other {
/// #     /// Says good-bye. Use it at the end.
/// #     #[helve_kernel::tool(group = "greet")]
/// #     pub async fn bye() -> String { "bye".to_owned() }
/// # }
/// # /// Says hello. Use it at the start.
/// # #[helve_kernel::tool(group = "greet", tags = ["first"])]
/// # async fn hello() -> String { "hello".to_owned() }
/// let greet = helve_kernel::toolset! {
///     name: "greet",
///     description: "Manners.",
///     tags: ["manners"],
///     tools: [hello, other::bye],
/// }?;
/// assert_eq!(greet.tools()[0].def.tags, ["first"]);
/// assert_eq!(greet.tools()[1].def.tags, ["manners"]);
/// # Ok::<(), helve_kernel::ToolsetError>(())
/// ```
#[macro_export]
macro_rules! toolset {
    (
        name: $name:expr,
        $(description: $description:expr,)?
        $(tags: [$($tag:expr),* $(,)?],)?
        tools: [$($tool:path),* $(,)?] $(,)?
    ) => {{
        #[allow(unused_mut, unused_assignments)]
        let mut description: ::std::option::Option<::std::string::String> =
            ::std::option::Option::None;
        $(description = ::std::option::Option::Some(::std::convert::Into::into($description));)?
        $crate::Toolset::new(
            $name,
            description,
            ::std::vec![$($(::std::convert::Into::into($tag)),*)?],
            ::std::vec![$(<$tool as $crate::DefineTool>::tool()),*],
        )
    }};
}

#[cfg(test)]
mod tests;
