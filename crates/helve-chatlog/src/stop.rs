//! Words that say nothing of what a text is about.

use std::sync::OnceLock;

use rustc_hash::FxHashSet;

/// Words of English with no content, question words among them.
const ENGLISH: &str = "a about above after again against ago all almost also although always am among an and \
another any anybody anyone anything anyway are aren't around as at away back be became because become been before \
being below between both but by can can't cannot could couldn't did didn't do does doesn't doing don't done down \
during each either else enough even ever every everybody everyone everything few for from further had hadn't has \
hasn't have haven't having he he'd he'll he's her here hers herself him himself his how however i i'd i'll i'm i've \
if in indeed instead into is isn't it it'd it'll it's its itself just least less let let's like many may maybe me \
might mine more most much must my myself neither never no nobody none nor not nothing now of off often oh ok okay on \
once one ones only onto or other others otherwise ought our ours ourselves out over own per perhaps quite rather \
really same shall shan't she she'd she'll she's should shouldn't since so some somebody someone something sometimes \
somewhat soon still such than that that's the their theirs them themselves then there there's therefore these they \
they'd they'll they're they've this those though through thus till to together too toward towards under unless until \
up upon us very was wasn't we we'd we'll we're we've well were weren't what what's whatever when when's whenever \
where where's wherever whether which while who who's whoever whom whose why will with within without won't would \
wouldn't yeah yes yet you you'd you'll you're you've your yours yourself yourselves";

/// Words that are no topic, though they say something: verbs, adverbs and the like of daily use.
const PLAIN: &str = "able actually afraid agree answer answered ask asked asking bad began begin best better big bit \
bring brought call called came care certain certainly come comes coming cool course cried day days dear different \
easy else end exactly except fact far feel feeling felt fine first found full gave get gets getting give given gives \
go goes going gone gonna good got gotta great guess guy guys haha hahaha half happen happened happy hard hear heard \
hello help hey hi high hold hope idea important interesting keep kept kind knew know known knows large last later \
laugh learn leave left little live lol long look looked looking looks lot lots love made make makes making man matter \
mean means meant men mind minute minutes moment month months morning move need needed needs new next nice night \
number old open part people person place plan play please point possible probably put question quick ready real \
remember replied reply rest right room run said same saw say saying says second see seem seemed seems seen send sent \
set short show side sir small sort sorry speak spoke start started stay stop stuff suppose sure take taken takes \
taking talk talking tell telling thank thanks thing things think thinking third thought time times today told \
tomorrow tonight took totally tried true truly try trying turn turned two three understand use used using usually \
wait want wanted wants watch way week weeks welcome went whole wish wonder wondering word words work worked working \
world write wrong year years yesterday yep young";

/// Letters that no Chinese topic begins or ends with.
const PARTICLES: &str = "的了着过是在我你您他她它们这那就都也很不没和与及或而且但却又再还才吗呢吧啊呀哦嗯哈嘿唉哎喔噢嘛呗啦哇么什\
怎被把让给其此所者个些每各几乎矣焉哉耶兮曰吾汝尔予孰谁乃亦弗勿毋沒這個們還過";

/// Letters at which Chinese is cut besides, where nothing else says where a word ends: some of
/// them begin or end words.
const WEAK: &str = "有为对从到向往以于之想要会能可得去来说看做用等跟比最更太真已将并因如若则即云一余何未非無說來會為與對從";

/// Words of Chinese that say nothing of what a text is about, question words among them.
const CHINESE: &str = "我们 你们 他们 她们 它们 咱们 自己 大家 别人 什么 怎么 怎样 怎么样 为什么 为何 如何 哪里 哪儿 哪个 哪些 哪天 \
谁 谁的 何时 何人 多少 几个 几次 几时 什么时候 多久 多大 是否 有没有 是不是 能不能 会不会 这个 那个 这些 那些 这里 那里 这样 那样 这么 那么 \
可以 可能 应该 需要 已经 正在 曾经 刚才 刚刚 现在 当时 以前 以后 之前 之后 后来 然后 所以 因为 但是 可是 不过 虽然 如果 要是 而且 并且 或者 \
还是 还有 就是 不是 没有 没什么 不会 不能 不要 知道 觉得 认为 告诉 说过 提到 提过 谈到 聊到 聊过 讲过 一个 一下 一些 一点 一直 一起 一样 \
关于 有关 对于 由于 根据 通过 进行 时候 事情 东西 问题 消息 记录 聊天 聊天记录 内容 总结 概括 列出 查找 查一下 找出 找到 请问 帮我 \
的 了 着 过 是 在 我 你 您 他 她 它 们 这 那 就 都 也 很 不 没 有 和 与 及 或 而 且 但 却 又 再 还 才 吗 呢 吧 啊 呀 哦 嗯 么 把 被 让 \
给 对 从 到 向 以 于 之 其 个 些 要 会 能 说 请 里 中 上 下 什 哪 几";

fn set(text: &'static str) -> FxHashSet<&'static str> {
    text.split_ascii_whitespace().collect()
}

/// Whether a word of English, folded, has no content.
pub(crate) fn is_stop(word: &str) -> bool {
    static WORDS: OnceLock<FxHashSet<&'static str>> = OnceLock::new();
    WORDS.get_or_init(|| set(ENGLISH)).contains(word)
}

/// Whether a word of English, folded, can be no topic.
pub(crate) fn is_plain(word: &str) -> bool {
    static WORDS: OnceLock<FxHashSet<&'static str>> = OnceLock::new();
    is_stop(word)
        || WORDS.get_or_init(|| set(PLAIN)).contains(word)
        || word.len() > 4 && word.ends_with("ly")
}

/// Whether no Chinese topic begins or ends with this letter.
pub(crate) fn is_particle(c: char) -> bool {
    static LETTERS: OnceLock<FxHashSet<char>> = OnceLock::new();
    LETTERS
        .get_or_init(|| PARTICLES.chars().collect())
        .contains(&c)
}

/// Whether Chinese is cut at this letter, where nothing else says where a word ends.
pub(crate) fn is_edge(c: char) -> bool {
    static LETTERS: OnceLock<FxHashSet<char>> = OnceLock::new();
    is_particle(c) || LETTERS.get_or_init(|| WEAK.chars().collect()).contains(&c)
}

/// The Chinese words that say nothing, the longest first.
pub(crate) fn chinese() -> &'static [&'static str] {
    static WORDS: OnceLock<Vec<&'static str>> = OnceLock::new();
    WORDS.get_or_init(|| {
        let mut words: Vec<_> = CHINESE.split_ascii_whitespace().collect();
        words.sort_by_key(|word| std::cmp::Reverse(word.len()));
        words
    })
}
