use std::io::Write as _;
use std::sync::Arc;

use helve_kernel::helve_core::def::ExecutorKind;
use serde_json::json;

use crate::testing::{Echo, Rig};

const PDF: &str =
    "---\nname: pdf\ndescription: Fills in forms.\nlicense: MIT\n---\n# How\nRead it.\n";

async fn rig() -> Rig {
    let rig = Rig::with(super::toolset().unwrap(), |_, builder| {
        builder.executor(ExecutorKind::Host, Arc::new(Echo))
    })
    .await;
    rig.write("skills/pdf/SKILL.md", PDF);
    rig.write("skills/pdf/references/forms.md", "页".repeat(30_000));
    rig.write("skills/pdf/scripts/fill.py", "print(1)");
    rig.write("skills/pdf/assets/logo.bin", [0u8, 255, 7]);
    rig.write(
        ".claude/skills/draw/SKILL.md",
        "---\nname: draw\ndescription: Draws.\n---\nDraw.",
    );
    rig.write("skills/broken/SKILL.md", "no head");
    rig.write("skills/twice/SKILL.md", PDF);
    std::fs::create_dir_all(rig.root.join("skills/empty")).unwrap();
    for def in super::programs(&rig.root).unwrap() {
        rig.register(def, "builtin").await;
    }
    rig
}

#[tokio::test]
async fn step_by_step_from_the_list_to_a_file() {
    let rig = rig().await;
    let all = rig.data("list_skills", json!({})).await;
    assert_eq!(
        all["skills"],
        json!([
            {"name": "draw", "description": "Draws.", "enabled": true, "folder": ".claude/skills/draw"},
            {"name": "pdf", "description": "Fills in forms.", "enabled": true, "folder": "skills/pdf"},
        ])
    );
    assert_eq!(
        all["problems"].as_array().unwrap().len(),
        3,
        "{}",
        all["problems"]
    );
    let page = rig
        .data("get_skill_info", json!({"skill_name": "pdf"}))
        .await;
    assert_eq!(page["body"], "# How\nRead it.\n");
    assert_eq!(page["metadata"], json!({"license": "MIT"}));
    assert_eq!(page["scripts"], json!(["scripts/fill.py"]));
    assert_eq!(
        page["files"],
        json!(["assets/logo.bin", "references/forms.md"])
    );
    let mut text = String::new();
    let mut offset = json!(0);
    loop {
        let args = json!({"skill_name": "pdf", "file": "references/forms.md", "offset": offset});
        let part = rig.data("get_skill_reference", args).await;
        text.push_str(part["text"].as_str().unwrap());
        offset = part["next_offset"].clone();
        if offset == 0 {
            break;
        }
    }
    assert_eq!(text, "页".repeat(30_000), "the parts make up the whole");
}

#[tokio::test]
async fn a_script_runs_only_where_it_is_registered_and_its_skill_is_on() {
    let rig = rig().await;
    let args = json!({"skill_name": "pdf", "script_name": "fill.py", "args": ["--in", "a b"]});
    let ran = rig.call("run_skill_script", args.clone()).await;
    assert_eq!(ran.meta.tool, "skill_pdf_fill_py");
    assert_eq!(
        ran.result.unwrap(),
        json!({"ran": "skill_pdf_fill_py" , "with": {"word_1": "--in", "word_2": "a b"}})
    );
    let off = rig
        .call("skills_disable", json!({"skill_name": "pdf"}))
        .await;
    assert!(off.is_ok());
    let refused = rig.refused("skills_run_script", args.clone()).await;
    assert!(
        refused.starts_with("denied: the skill `pdf` is turned off"),
        "{refused}"
    );
    assert!(rig.undo(&off).await.is_ok());
    assert!(rig.call("skills_run_script", args).await.is_ok());
    rig.refuses(
        "skills_run_script",
        &[
            (
                json!({"skill_name": "pdf", "script_name": "../../x.sh"}),
                "not_found: the skill `pdf` has no registered script",
            ),
            // Its tool would have the same name.
            (
                json!({"skill_name": "pdf", "script_name": "fill_py"}),
                "not_found: the skill `pdf` has no registered script `fill_py`",
            ),
            (
                json!({"skill_name": "draw", "script_name": "fill.py"}),
                "not_found",
            ),
        ],
    )
    .await;
}

fn zipped(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in files {
        zip.start_file(*name, zip::write::SimpleFileOptions::default())
            .unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn tarred(files: &[(&str, &[u8], tar::EntryType)]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, content, kind) in files {
        let mut header = tar::Header::new_ustar();
        // Unlike `set_path`, it takes any name.
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_size(content.len() as u64);
        header.set_entry_type(*kind);
        header.set_mode(0o644);
        header.set_cksum();
        tar.append(&header, *content).unwrap();
    }
    tar.into_inner().unwrap()
}

#[tokio::test]
async fn a_skill_is_taken_in_from_a_folder_or_an_archive() {
    let rig = rig().await;
    let new: &[u8] = b"---\nname: new-one\ndescription: New.\n---\nBody";
    let plain = tar::EntryType::Regular;
    rig.write("in/folder/SKILL.md", new);
    rig.write("in/folder/scripts/a.sh", "echo");
    rig.write(
        "in/a.zip",
        zipped(&[("new/SKILL.md", new), ("new/scripts/a.sh", b"echo")]),
    );
    let tar = tarred(&[("SKILL.md", new, plain), ("scripts/a.sh", b"echo", plain)]);
    rig.write("in/a.tar", &tar);
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(&tar).unwrap();
    rig.write("in/a.tgz", gz.finish().unwrap());
    for source in ["in/folder", "in/a.zip", "in/a.tar", "in/a.tgz"] {
        let done = rig.call("install_skill", json!({"source": source})).await;
        let data = done
            .result
            .clone()
            .unwrap_or_else(|e| panic!("{source}: {e:?}"));
        assert_eq!(
            data["files"],
            json!(["SKILL.md", "scripts/a.sh"]),
            "{source}"
        );
        assert_eq!(rig.read("skills/new-one/scripts/a.sh"), "echo");
        assert_eq!(
            rig.data("skills_info", json!({"skill_name": "new-one"}))
                .await["body"],
            "Body"
        );
        let again = rig
            .refused("skills_install", json!({"source": source}))
            .await;
        assert!(
            again.starts_with("conflict: there is a skill `new-one` already"),
            "{again}"
        );
        assert!(rig.undo(&done).await.is_ok());
        assert!(!rig.root.join("skills/new-one").exists());
    }
}

#[tokio::test]
async fn what_is_no_skill_or_leads_out_of_it_is_refused() {
    let rig = rig().await;
    let new: &[u8] = b"---\nname: new-one\ndescription: New.\n---\nBody";
    let (plain, link) = (tar::EntryType::Regular, tar::EntryType::Symlink);
    rig.write(
        "in/out.zip",
        zipped(&[("SKILL.md", new), ("../../evil", b"x")]),
    );
    rig.write(
        "in/root.zip",
        zipped(&[("SKILL.md", new), ("/etc/evil", b"x")]),
    );
    rig.write(
        "in/out.tar",
        tarred(&[("SKILL.md", new, plain), ("a/../../evil", b"x", plain)]),
    );
    rig.write(
        "in/link.tar",
        tarred(&[("SKILL.md", new, plain), ("link", b"", link)]),
    );
    rig.write("in/none.zip", zipped(&[("README.md", b"x")]));
    rig.write(
        "in/bad.zip",
        zipped(&[("SKILL.md", b"---\nname: a b\ndescription: x\n---\n")]),
    );
    rig.write(
        "in/bomb.zip",
        zipped(&[("SKILL.md", new), ("zeros", &vec![0; 60 << 20])]),
    );
    rig.write("in/cut.zip", &zipped(&[("SKILL.md", new)])[..40]);
    rig.write("in/text", "text");
    rig.write("in/linked/SKILL.md", new);
    std::os::unix::fs::symlink("/etc/passwd", rig.root.join("in/linked/passwd")).unwrap();
    let source = |name: &str| json!({"source": format!("in/{name}")});
    rig.refuses(
        "skills_install",
        &[
            (json!({}), "\"source\" is a required property"),
            (
                source("out.zip"),
                "permission: it holds `../../evil`, which leads out of the skill",
            ),
            (source("root.zip"), "permission: it holds `/etc/evil`"),
            (source("out.tar"), "permission: it holds `a/../../evil`"),
            (
                source("link.tar"),
                "validation: `link` in it is no plain file",
            ),
            (
                source("linked"),
                "validation: `passwd` in it is no plain file",
            ),
            (source("none.zip"), "has no `SKILL.md`"),
            (source("bad.zip"), "its `name` is not one"),
            (source("bomb.zip"), "validation: it has more than"),
            (source("cut.zip"), "cannot be unpacked"),
            (source("text"), "is no archive that is known"),
            (source("nothing"), "not_found"),
            (json!({"source": "../x"}), "permission"),
        ],
    )
    .await;
    assert!(!rig.root.join("skills/new-one").exists());
    rig.refuses(
        "skills_info",
        &[(
            json!({"skill_name": "pfd"}),
            "not_found: there is no skill `pfd`",
        )],
    )
    .await;
    let file = |name: &str| json!({"skill_name": "pdf", "file": name});
    rig.refuses(
        "skills_reference",
        &[
            (file("../../in/text"), "not_found: `pdf` has no file"),
            (
                file("references/form.md"),
                "the nearest are references/forms.md",
            ),
            (
                file("assets/logo.bin"),
                "validation: `assets/logo.bin` is no text",
            ),
            (
                json!({"skill_name": "pdf", "file": "references/forms.md", "offset": 1}),
                "`offset`",
            ),
        ],
    )
    .await;
}

/// A workspace may be a stranger's: nothing in it holds the hub up, or is taken for a script.
#[tokio::test]
async fn links_and_pipes_are_no_skills() {
    let rig = rig().await;
    let skill = |name: &str| rig.root.join("skills").join(name);
    for name in ["endless", "piped", "elsewhere"] {
        std::fs::create_dir_all(skill(name)).unwrap();
    }
    std::os::unix::fs::symlink("/dev/zero", skill("endless/SKILL.md")).unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mkfifoat(rustix::fs::CWD, skill("piped/SKILL.md"), mode).unwrap();
    rig.write(
        "skills/elsewhere/SKILL.md",
        "---\nname: elsewhere\ndescription: Leads away.\n---\n",
    );
    std::os::unix::fs::symlink(skill("pdf/scripts"), skill("elsewhere/scripts")).unwrap();
    let programs = super::programs(&rig.root).unwrap();
    let names: Vec<&str> = programs.iter().map(|def| def.name.as_str()).collect();
    assert_eq!(names, ["skill_pdf_fill_py"]);
    let listed = rig.data("skills_list", json!({})).await;
    let names = listed["skills"].as_array().unwrap().iter();
    let names: Vec<&str> = names.map(|skill| skill["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["draw", "elsewhere", "pdf"]);
}
