//! Looking at the folders of skills.

use helve_kernel::helve_changes::What;
use helve_kernel::helve_core::name::nearest;
use helve_kernel::helve_core::read::{Syntax, read};
use helve_kernel::{Ctx, ToolError};
use serde_json::{Map, Value};

use super::FOLDERS;

/// The most files of a skill that are looked at, and how deep they may lie.
const MOST: usize = 2_000;
const DEEPEST: usize = 8;

/// The most bytes of instructions.
pub(super) const LONGEST: u64 = 512 * 1024;

/// A skill.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Skill {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) body: String,
    pub(super) metadata: Map<String, Value>,
    /// From the workspace.
    pub(super) folder: String,
}

/// All skills that were found.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    pub(super) skills: Vec<Skill>,
    pub(super) problems: Vec<String>,
}

impl Shelf {
    pub(super) async fn look(ctx: &Ctx) -> Result<Self, ToolError> {
        let mut shelf = Self::default();
        for folder in FOLDERS {
            let there = ctx.files().look(folder).await?;
            if there.is_none_or(|looked| looked.what != What::Dir) {
                continue;
            }
            for (name, looked) in ctx.files().list(folder).await? {
                let Some(name) = name.to_str().filter(|_| looked.what == What::Dir) else {
                    continue;
                };
                shelf.take(ctx, &format!("{folder}/{name}")).await?;
            }
        }
        shelf.skills.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(shelf)
    }

    async fn take(&mut self, ctx: &Ctx, folder: &str) -> Result<(), ToolError> {
        let file = format!("{folder}/SKILL.md");
        let Some(looked) = ctx.files().look(&file).await? else {
            self.problems.push(format!("`{folder}` has no `SKILL.md`"));
            return Ok(());
        };
        if looked.size > LONGEST {
            self.problems
                .push(format!("`{file}` has more than {LONGEST} bytes"));
            return Ok(());
        }
        let text = match ctx.files().read_to_string(&file).await {
            Ok(text) => text,
            Err(error) => {
                self.problems.push(error.message);
                return Ok(());
            }
        };
        match skill(&text, folder) {
            Ok(skill) if self.skills.iter().any(|known| known.name == skill.name) => {
                let name = &skill.name;
                self.problems
                    .push(format!("`{folder}`: there is another skill `{name}`"));
            }
            Ok(skill) => self.skills.push(skill),
            Err(problem) => self.problems.push(format!("`{file}`: {problem}")),
        }
        Ok(())
    }

    pub(super) fn find(&self, name: &str) -> Result<&Skill, ToolError> {
        let found = self.skills.iter().find(|skill| skill.name == name);
        found.ok_or_else(|| {
            let problem = format!("there is no skill `{}`", name.escape_debug());
            let error = ToolError::not_found(problem);
            let near = nearest(name, self.skills.iter().map(|s| s.name.as_str()), 5);
            match near.is_empty() {
                true => error.with_hint("`skills_list` tells which there are"),
                false => error.with_hint(format!("the nearest are {}", near.join(", "))),
            }
        })
    }
}

/// Reads a `SKILL.md`; what is wrong with it otherwise.
pub(super) fn skill(text: &str, folder: &str) -> Result<Skill, String> {
    let text = text.trim_start_matches('\u{feff}');
    let mut read = read(text, Syntax::Skill)
        .map_err(|e| e.problem.to_string())?
        .to_value();
    let (Value::Object(mut metadata), Value::String(body)) =
        (read["frontmatter"].take(), read["body"].take())
    else {
        return Err("it is no `SKILL.md`".to_owned());
    };
    let mut text = |key: &str| match metadata.shift_remove(key) {
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(text.trim().to_owned()),
        _ => Err(format!("it has no `{key}`")),
    };
    let (name, description) = (text("name")?, text("description")?);
    let plain = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    if name.len() > 64 || !name.chars().all(plain) {
        return Err("its `name` is not one; use letters, digits and `-`, at most 64".to_owned());
    }
    Ok(Skill {
        name,
        description,
        body: body.trim_start().to_owned(),
        metadata,
        folder: folder.to_owned(),
    })
}

/// The scripts of a skill, and its other files; paths from its folder.
pub(super) async fn contents(
    ctx: &Ctx,
    skill: &Skill,
) -> Result<(Vec<String>, Vec<String>), ToolError> {
    let (mut scripts, mut files) = (Vec::new(), Vec::new());
    let mut folders = vec![(String::new(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        for (name, looked) in ctx
            .files()
            .list(format!("{}/{folder}", skill.folder))
            .await?
        {
            let Some(name) = name.to_str() else {
                continue;
            };
            let path = match folder.is_empty() {
                true => name.to_owned(),
                false => format!("{folder}/{name}"),
            };
            match looked.what {
                What::Dir if depth < DEEPEST => folders.push((path, depth + 1)),
                What::File if path.starts_with("scripts/") => scripts.push(path),
                What::File if path != "SKILL.md" => files.push(path),
                _ => {}
            }
            if scripts.len() + files.len() > MOST {
                return Err(ToolError::validation(format!(
                    "the skill `{}` has more than {MOST} files",
                    skill.name
                )));
            }
        }
    }
    scripts.sort();
    files.sort();
    Ok((scripts, files))
}
