//! Small numbers, as they are written in dates.

/// A number in digits (wide ones too), or in Chinese: 十五, 二十, 二〇二三, 两.
pub(super) fn chinese(text: &str) -> Option<i64> {
    let mut value = 0i64;
    let mut digit = None;
    let mut placed = false;
    for c in text.chars() {
        if c == '十' {
            value += digit.take().unwrap_or(1) * 10;
            placed = true;
            continue;
        }
        let d = match c {
            '0'..='9' => i64::from(u32::from(c) - u32::from('0')),
            '０'..='９' => i64::from(u32::from(c) - u32::from('０')),
            '〇' | '零' => 0,
            '两' => 2,
            _ => i64::try_from("一二三四五六七八九".chars().position(|n| n == c)?).ok()? + 1,
        };
        // Without a ten, digits follow one another: 二〇二三.
        digit = match (digit, placed) {
            (Some(before), false) => Some(i64::checked_add(i64::checked_mul(before, 10)?, d)?),
            _ => Some(d),
        };
    }
    (!text.is_empty()).then(|| value + digit.unwrap_or(0))
}

/// A number in digits or as an English word; "a" is one, "a couple of" two.
pub(super) fn english(text: &str) -> Option<i64> {
    let text = text.trim().to_lowercase();
    let words = [
        "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
        "twelve",
    ];
    if let Some(at) = words.iter().position(|word| *word == text) {
        return i64::try_from(at).ok().map(|n| n + 1);
    }
    match text.as_str() {
        "" | "a" | "an" => Some(1),
        "a couple of" | "couple of" | "a couple" => Some(2),
        digits => digits.parse().ok(),
    }
}
