//! Messages from a seed: the same on every machine.

use std::rc::Rc;

use helve_chatlog::{Chat, ChatKind, Kind, Message, Sender};

const SENDERS: u64 = 200;
const CHATS: u64 = 50;

/// The words, and how likely each is.
struct Words {
    chinese: Vec<String>,
    english: Vec<String>,
    /// Sums of 1/rank, for Zipf's law.
    sums: Vec<f64>,
}

pub(crate) struct Made {
    random: u64,
    words: Rc<Words>,
    time: i64,
}

thread_local! {
    static WORDS: Rc<Words> = Rc::new(words());
}

impl Made {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            random: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
            words: WORDS.with(Rc::clone),
            time: 1_600_000_000_000,
        }
    }

    pub(crate) fn message(&mut self) -> Message {
        self.time += 1_000 + (self.next() % 60_000) as i64;
        let (chat, sender) = (self.next() % CHATS, self.next() % SENDERS);
        Message {
            id: None,
            chat: Chat {
                id: format!("chat{chat}"),
                name: format!("群聊{chat}"),
                kind: ChatKind::Group,
            },
            sender: Sender {
                id: format!("user{sender}"),
                name: format!("用户{sender}"),
                is_self: None,
            },
            time: Some(self.time),
            kind: Kind::Text,
            text: self.text(),
            reply_to: None,
        }
    }

    pub(crate) fn question(&mut self) -> String {
        let asks = [
            "什么时候",
            "what did we say about ",
            "谁说过",
            "where is the ",
            "",
        ];
        let ask = asks[(self.next() % asks.len() as u64) as usize];
        format!("{ask}{}？", self.text())
    }

    pub(crate) fn chinese(&self, rank: usize) -> &str {
        &self.words.chinese[rank % self.words.chinese.len()]
    }

    pub(crate) fn english(&self, rank: usize) -> &str {
        &self.words.english[rank % self.words.english.len()]
    }

    fn text(&mut self) -> String {
        let count = 1 + self.next() % 5 + self.next() % 5;
        let script = self.next() % 10;
        let mut text = String::new();
        for n in 0..count {
            let is_chinese = script < 6 || script == 6 && self.next().is_multiple_of(2);
            let rank = self.rank();
            match is_chinese {
                true => text += &self.words.chinese[rank % self.words.chinese.len()],
                false => {
                    if n > 0 {
                        text.push(' ');
                    }
                    text += &self.words.english[rank % self.words.english.len()];
                }
            }
        }
        match self.next() % 8 {
            0 => text += "。",
            1 => text += "！",
            2 => text += "😂",
            3 => text += &format!(" {}", self.next() % 10_000),
            _ => {}
        }
        text
    }

    fn rank(&mut self) -> usize {
        let sums = &self.words.sums;
        let at = (self.random >> 11) as f64 / (1_u64 << 53) as f64 * sums[sums.len() - 1];
        let rank = sums.partition_point(|sum| *sum < at);
        self.next();
        rank.min(self.words.sums.len() - 1)
    }

    fn next(&mut self) -> u64 {
        step(&mut self.random)
    }
}

/// xorshift64*
fn step(state: &mut u64) -> u64 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
}

fn words() -> Words {
    const COMMON: &str = "的不是我有大这上来到时年出就分对成会可主发生动同工也能下过子说产种面而方后多定行学法所民得经十三之进着等部度家电力里如水化高自二理起小物现实加量都两体制机当使点从业本去把性好应开它合还因由其些然前外天政四日那社义事平形相全表间样与关各重新线内数正心反你明看原又么利比或但质气第向道命此变条只没结解问意建月公无系军很情者最立代想已通并提直题党程展五果料象员革位入常文总次品式活设及管特件长求老头基资边流路级少图山统接知较将组见计别她手角期根论运农指几九区强放决西被干做必战先回则任取据处队南给色光门即保治北造百规热领七海口东导器压志世金增争济阶油思术极交受联什认六共权收证改清己美再采转更单风切打白教速花带安场身车例真务具万每目至达走积示议声报斗完类八离华名确才科张信马节话米整空元况今集温传土许步群广石记需段研界拉林律叫且究观越织装影算低持音众书布复容儿须际商非验连断深难近矿千周委素技备半办青省列习响约支般史感劳便团往酸历市克何除消构府称太准精值号率族维划选标写存候毛亲快效斯院查江型眼王按格养易置派层片始却专状育厂京识适属圆包火住调满县局照参红细引听该铁价严";
    const SYLLABLES: [&str; 24] = [
        "an", "be", "cor", "da", "el", "fi", "gra", "hon", "in", "ja", "ker", "lo", "me", "nu",
        "or", "pre", "qui", "ra", "sto", "ti", "un", "ver", "wa", "yo",
    ];
    let common: Vec<char> = COMMON.chars().collect();
    let mut state = 42;
    let mut pick = |most: usize| (step(&mut state) % most as u64) as usize;
    let chinese = (0..30_000).map(|_| {
        let length = [1, 2, 2, 2, 2, 2, 3][pick(7)];
        // Letters that are common are in more words.
        let letter = |pick: &mut dyn FnMut(usize) -> usize| {
            common[pick(common.len()).min(pick(common.len()))]
        };
        (0..length).map(|_| letter(&mut pick)).collect::<String>()
    });
    let chinese = chinese.collect();
    let english = (0..30_000).map(|n: usize| {
        let length = 1 + usize::from(n > 20) + usize::from(n > 400) + pick(2);
        (0..length)
            .map(|_| SYLLABLES[pick(SYLLABLES.len())])
            .collect::<String>()
    });
    let english = english.collect();
    let mut sum = 0.0;
    let sums = (1..=30_000).map(|rank| {
        sum += 1.0 / f64::from(rank);
        sum
    });
    Words {
        chinese,
        english,
        sums: sums.collect(),
    }
}
