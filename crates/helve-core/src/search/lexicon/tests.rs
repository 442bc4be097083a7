use super::{CHINESE, SYNONYMS, lexicon, lines};

fn words(numbers: &[u32]) -> Vec<&'static str> {
    let words = numbers.iter().map(|n| lexicon().texts.get(*n));
    words.collect()
}

#[test]
fn the_longest_word_is_taken() {
    let mut found = Vec::new();
    lexicon().english("查询明天的天气预报", |chinese, english| {
        if !english.is_empty() {
            found.push(format!("{chinese}: {}", words(english).join(" ")));
        }
    });
    assert_eq!(
        found,
        [
            "查询: query search get lookup",
            "天气预报: weather forecast"
        ]
    );
}

#[test]
fn both_ways() {
    let words_of = lexicon().vocabulary();
    let number = |word: &str| words_of.number(word).unwrap();
    let weather = lexicon().pairs(number("weather"));
    assert!(weather.contains(&(number("天气"), 1)));
    assert!(words(lexicon().synonyms(number("car"))).contains(&"vehicl"));
    assert!(lexicon().synonyms(u32::MAX).is_empty());
}

#[test]
fn the_tables_are_what_they_say() {
    let chinese: Vec<&str> = lines(CHINESE).collect();
    assert!(chinese.len() > 1_500, "{}", chinese.len());
    for line in chinese {
        let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
        assert!(first.chars().all(|c| !c.is_ascii()), "{line}");
        assert!(rest.is_ascii(), "{line}");
    }
    for line in lines(SYNONYMS) {
        assert!(line.split(' ').count() >= 2, "{line}");
        assert!(
            line.bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b' '),
            "{line}"
        );
    }
}
