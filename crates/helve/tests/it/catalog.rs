//! `helve catalog` and `helve info`.

use crate::run::{Folder, seeds};

fn openakita() -> String {
    seeds().join("openakita/browser.py").display().to_string()
}

#[test]
fn a_budget_is_kept() {
    let folder = Folder::new();
    for budget in [40, 60, 100, 200, 400, 2000] {
        let ran = folder.helve(&[
            "catalog",
            "--json",
            "--budget",
            &budget.to_string(),
            &openakita(),
        ]);
        if ran.code == 0 {
            assert!(ran.json()["tokens"].as_u64().unwrap() <= budget);
        } else {
            assert!(ran.err.contains("hint: give `--budget"), "{}", ran.err);
        }
    }
    let full = folder.helve(&["catalog", &openakita()]).ended(0);
    assert!(
        full.out.contains("## Browser\n- browser_click: "),
        "{}",
        full.out
    );
    assert!(full.out.contains("⚠"), "warnings are shown");
    assert!(full.err.contains("6 tools, about"), "{}", full.err);
}

#[test]
fn a_page_or_the_nearest_five() {
    let folder = Folder::new();
    let page = folder
        .helve(&["info", "browser_navigate", &openakita()])
        .ended(0);
    assert!(page.out.starts_with("# browser_navigate\n"), "{}", page.out);
    let none = folder
        .helve(&["info", "browser_navigat", &openakita()])
        .ended(3);
    assert!(
        none.err.contains("did you mean browser_navigate"),
        "{}",
        none.err
    );
    let nothing = folder.helve(&["info", "x"]).ended(2);
    assert!(
        nothing.err.contains("there is no `tools/`"),
        "{}",
        nothing.err
    );
}
