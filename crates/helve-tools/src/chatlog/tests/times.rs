use serde_json::json;

use super::{import, lines, talk};

#[tokio::test]
async fn several_ranges_of_time_in_one_call() {
    let rig = talk().await;
    let march = |since: &str, until: &str| {
        let day = |day: &str| match day {
            "" => String::new(),
            day => format!("2024-03-{day}"),
        };
        json!({"since": day(since), "until": day(until)})
    };
    let table = [
        (json!([march("01", "01")]), json!([1, 2, 3])),
        (
            json!([march("02", "02"), march("", "01")]),
            json!([1, 2, 3, 4, 5]),
        ),
        (
            json!([{"since": "2024-03-01T09:01:00Z", "until": "2024-03-01T09:01:00Z"}, {"since": "2024年4月"}]),
            json!([2, 9]),
        ),
        (json!([{"until": "2024-03-01 09:01"}]), json!([1, 2])),
        (
            json!([march("01", "02"), march("02", "03")]),
            json!([1, 2, 3, 4, 5, 6, 7, 8]),
        ),
        (json!([{"since": "2030-01-01"}]), json!([])),
    ];
    for (ranges, lines) in table {
        let args = json!({"keywords": ["."], "regex": true, "order": "oldest", "ranges": ranges});
        let found = rig.data("search_by_keywords", args).await;
        assert_eq!(found["line_numbers"], lines, "{ranges}");
    }
    // The bounds of all bound each of them, and where nothing is left, nothing is found.
    for (since, lines) in [
        ("2024-03-02", json!([4, 5, 6, 7, 8])),
        ("2024-05-01", json!([])),
    ] {
        let args = json!({
            "keywords": ["."], "regex": true, "order": "oldest", "since": since,
            "ranges": [march("01", "02"), march("03", "03")],
        });
        let found = rig.data("search_by_keywords", args).await;
        assert_eq!(found["line_numbers"], lines, "since {since}");
    }
}

#[tokio::test]
async fn every_search_takes_ranges() {
    let rig = talk().await;
    // A topic is what stands out in several stretches of talk.
    let titles: Vec<_> = ["2024-03-01", "2024-03-20", "2024-04-20"]
        .map(|day| format!("{day}T12:00:00Z"))
        .to_vec();
    let said: Vec<_> = titles
        .iter()
        .map(|time| ("书", time.as_str(), "小明", "读《沙丘》"))
        .collect();
    import(&rig, "books.jsonl", lines(&said)).await;
    let some = json!([{"since": "2024-03-01", "until": "2024-03-01"}, {"since": "2024-04-01"}]);
    let table = [
        (
            "retrieve_evidence",
            json!({"question": "沙丘", "context": 0}),
        ),
        ("search_by_topics", json!({"topics": ["沙丘"]})),
        ("search_by_keywords", json!({"keywords": ["沙丘"]})),
    ];
    for (tool, mut args) in table {
        for (ranges, expected) in [(json!([]), vec![10, 11, 12]), (some.clone(), vec![10, 12])] {
            args["ranges"] = ranges;
            let found = rig.data(tool, args.clone()).await["line_numbers"].clone();
            let mut found: Vec<u64> = serde_json::from_value(found).unwrap();
            found.sort_unstable();
            assert_eq!(found, expected, "{tool} {args}");
        }
    }
    let args = json!({"path": "some.jsonl", "ranges": some});
    assert_eq!(rig.data("chatlog_export", args).await["messages"], 6);
}

#[tokio::test]
async fn times_that_are_none() {
    let rig = talk().await;
    let with = |ranges: serde_json::Value| json!({"keywords": ["a"], "ranges": ranges});
    rig.refuses(
        "search_by_keywords",
        &[
            (
                with(json!([{"since": "2024-03-02", "until": "2024-03-01"}])),
                "`ranges[0].since` (`2024-03-02`) is after `ranges[0].until` (`2024-03-01`)",
            ),
            (
                with(json!([{"since": "2024-03-02"}, {"until": "soonish"}])),
                "`ranges[1].until` is no time: `soonish`",
            ),
            (
                with(json!([{"since": "2024-02-30"}])),
                "`ranges[0].since` is no time: `2024-02-30`",
            ),
            (
                with(json!([{"since": "2024-03-01T25:00"}])),
                "`ranges[0].since` is no time",
            ),
            (
                with(json!([{}])),
                "`ranges[0]` has neither `since` nor `until`",
            ),
            (with(json!([{"from": "2024-03-02"}])), "from"),
            (with(json!("2024")), "ranges"),
            (
                json!({"keywords": ["a"], "since": "2024-03-02", "until": "2024-03-01"}),
                "`since` (`2024-03-02`) is after `until` (`2024-03-01`)",
            ),
        ],
    )
    .await;
}
