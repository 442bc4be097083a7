//! Words that a question has because it is one, and that tell nothing of its answer.

/// English ones, in order.
const ENGLISH: &[&str] = &[
    "a", "about", "after", "again", "all", "also", "am", "an", "and", "any", "are", "as", "at",
    "be", "because", "been", "before", "being", "but", "by", "can", "could", "d", "did", "do",
    "does", "doing", "during", "each", "ever", "for", "from", "had", "has", "have", "having", "he",
    "her", "here", "hers", "him", "his", "how", "i", "if", "in", "into", "is", "it", "its", "just",
    "ll", "m", "many", "may", "me", "might", "more", "most", "much", "must", "my", "no", "nor",
    "not", "now", "of", "off", "on", "once", "only", "or", "other", "our", "ours", "out", "over",
    "own", "re", "s", "same", "shall", "she", "should", "so", "some", "such", "t", "than", "that",
    "the", "their", "theirs", "them", "then", "there", "these", "they", "this", "those", "through",
    "to", "too", "under", "until", "up", "us", "ve", "very", "was", "we", "were", "what", "when",
    "where", "which", "while", "who", "whom", "whose", "why", "will", "with", "would", "you",
    "your", "yours",
];

/// Chinese ones, longest first, in both ways of writing.
const CHINESE: &[&str] = &[
    "为什么",
    "為什麼",
    "什么时候",
    "什麼時候",
    "怎么样",
    "怎麼樣",
    "是不是",
    "有没有",
    "有沒有",
    "哪一个",
    "哪一個",
    "什么",
    "什麼",
    "怎么",
    "怎麼",
    "怎样",
    "怎樣",
    "如何",
    "哪里",
    "哪裡",
    "哪儿",
    "哪兒",
    "哪个",
    "哪個",
    "哪些",
    "多少",
    "几个",
    "幾個",
    "谁的",
    "誰的",
    "是谁",
    "是誰",
    "我们",
    "我們",
    "你们",
    "你們",
    "他们",
    "他們",
    "她们",
    "她們",
    "这个",
    "這個",
    "那个",
    "那個",
    "这些",
    "這些",
    "那些",
    "时候",
    "時候",
    "可以",
    "曾经",
    "曾經",
    "关于",
    "關於",
    "一下",
    "请问",
    "請問",
    "告诉",
    "告訴",
    "知道",
    "没有",
    "沒有",
    "吗",
    "嗎",
    "呢",
    "吧",
    "啊",
    "呀",
    "的",
    "了",
    "是",
    "在",
    "和",
    "与",
    "與",
    "我",
    "你",
    "他",
    "她",
    "它",
    "谁",
    "誰",
    "过",
    "過",
    "都",
    "也",
    "就",
    "把",
    "被",
];

pub(super) fn is_word(word: &str) -> bool {
    ENGLISH.binary_search(&word).is_ok()
}

/// What is left of a run between words that only ask.
pub(super) fn split(run: &str, rest: &mut dyn FnMut(&str)) {
    let (mut start, mut at) = (0, 0);
    while at < run.len() {
        // The list has the longer ones first where one begins another.
        let stop = CHINESE.iter().filter(|stop| run[at..].starts_with(**stop));
        match stop.map(|stop| stop.len()).max() {
            Some(length) => {
                if start < at {
                    rest(&run[start..at]);
                }
                at += length;
                start = at;
            }
            None => at += run[at..].chars().next().map_or(1, char::len_utf8),
        }
    }
    if start < run.len() {
        rest(&run[start..]);
    }
}
