//! Each format against a fixture whose meaning is written out by hand, then what goes wrong.

mod archives;
mod cut;
mod dates;
mod hostile;
mod letters;
mod small;

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;

use super::{FORMATS, Format, ReadError, look, read, source};
use crate::{Folder, Input, Message, Options, Person, Sink, Stop};

/// What came out.
#[derive(Debug, Default, PartialEq)]
struct Got {
    messages: Vec<Message>,
    people: Vec<Person>,
    malformed: Vec<(u64, String)>,
    progress: Vec<u64>,
}

impl Sink for Got {
    fn message(&mut self, message: Message) -> Result<(), Stop> {
        self.messages.push(message);
        Ok(())
    }

    fn person(&mut self, person: Person) -> Result<(), Stop> {
        self.people.push(person);
        Ok(())
    }

    fn malformed(&mut self, place: u64, why: String) -> Result<(), Stop> {
        self.malformed.push((place, why));
        Ok(())
    }

    fn progress(&mut self, bytes: u64) -> Result<(), Stop> {
        self.progress.push(bytes);
        Ok(())
    }
}

/// A fixture: its format, its file, the name it was exported under, and how many of its
/// records are wrong on purpose.
type Fixture = (Format, &'static str, &'static str, usize);

const FIXTURES: &[Fixture] = &[
    (Format::ChatlogCsv, "chatlog_csv.csv", "chat.csv", 1),
    (Format::ChatlogJson, "chatlog_json.json", "chat.json", 1),
    (Format::MemotraceCsv, "memotrace_csv.csv", "老张.csv", 1),
    (
        Format::PywxdumpCsv,
        "pywxdump_csv.csv",
        "wxid_ann_0_5000.csv",
        0,
    ),
    (Format::WeflowJson, "weflow_json.json", "私聊_Ann.json", 1),
    (Format::ChatlabJson, "chatlab_json.json", "x.json", 1),
    (Format::ChatlabJsonl, "chatlab_jsonl.jsonl", "x.jsonl", 1),
    (Format::TelegramJson, "telegram_json.json", "result.json", 1),
    (
        Format::WhatsappTxt,
        "whatsapp_txt.txt",
        "WhatsApp Chat with Trip.txt",
        1,
    ),
    (Format::DiscordJson, "discord_json.json", "x.json", 1),
    (Format::QqTxt, "qq_txt.txt", "全部消息记录.txt", 1),
    (Format::QqExporter, "qq_exporter.json", "group_555.json", 1),
    (Format::HelveJsonl, "helve_jsonl.jsonl", "x.jsonl", 1),
    (Format::Csv, "csv.csv", "Trip.csv", 1),
    (Format::Jsonl, "jsonl.jsonl", "Trip.jsonl", 1),
];

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("testdata/formats")
        .join(name)
}

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(path(name)).expect("the fixture is there")
}

fn options() -> Options {
    Options {
        zone: TimeZone::get("Asia/Shanghai").expect("it is bundled"),
        ..Options::default()
    }
}

fn file(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(bytes).expect("it is written");
    file.seek(SeekFrom::Start(0)).expect("it is a file");
    file
}

fn run(input: Input<'_>, name: &str, options: &Options) -> (Result<Format, ReadError>, Got) {
    let mut got = Got::default();
    let result = read(input, name, options, &mut got);
    (result, got)
}

/// Reads bytes as a file of that name.
fn of(bytes: &[u8], name: &str) -> (Result<Format, ReadError>, Got) {
    run(Input::File(file(bytes)), name, &options())
}

/// Reads what must be readable.
fn good(bytes: &[u8], name: &str) -> (Format, Got) {
    let (result, got) = of(bytes, name);
    (
        result.unwrap_or_else(|e| panic!("{name}: {e}: {got:?}")),
        got,
    )
}

/// What the fixture means, as somebody wrote it out.
fn expected(format: Format) -> Got {
    let text = String::from_utf8(bytes(&format!("{format}.expected.jsonl"))).unwrap();
    let mut got = Got::default();
    for line in text.lines() {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        match value.get("person") {
            Some(person) => got
                .people
                .push(serde_json::from_value(person.clone()).unwrap()),
            None => got.messages.push(serde_json::from_value(value).unwrap()),
        }
    }
    got
}

fn same(label: &str, got: &Got, expected: &Got, malformed: usize) {
    for (n, (got, expected)) in got.messages.iter().zip(&expected.messages).enumerate() {
        assert_eq!(got, expected, "{label}: message {}", n + 1);
    }
    assert_eq!(
        got.messages.len(),
        expected.messages.len(),
        "{label}: how many"
    );
    assert_eq!(got.people, expected.people, "{label}: people");
    assert_eq!(
        got.malformed.len(),
        malformed,
        "{label}: {:?}",
        got.malformed
    );
}

#[test]
fn each_fixture_means_what_is_written_beside_it() {
    for (format, fixture, name, malformed) in FIXTURES {
        let (found, got) = good(&bytes(fixture), name);
        assert_eq!(found, *format, "{fixture}");
        same(fixture, &got, &expected(*format), *malformed);
        assert!(
            expected(*format).messages.len() >= 13,
            "{fixture} is too short to show much"
        );
    }
}

/// A wrong name, a mark at the beginning, other line ends: it is still the same.
#[test]
fn what_a_file_is_does_not_hang_on_its_name() {
    for (format, fixture, name, _) in FIXTURES {
        let plain = bytes(fixture);
        for wrong in ["a.csv", "b.json", "c.txt", "d.jsonl", "", "e"] {
            assert_eq!(good(&plain, wrong).0, *format, "{fixture} as {wrong}");
        }
        let marked = [b"\xef\xbb\xbf".as_slice(), &plain].concat();
        let (found, got) = good(&marked, name);
        assert_eq!(found, *format, "{fixture} with a mark");
        assert_eq!(
            got.messages,
            expected(*format).messages,
            "{fixture} with a mark"
        );
    }
}

/// No two rows of the table claim the same file, but for what is nobody's.
#[test]
fn each_fixture_is_of_one_format() {
    for (format, fixture, ..) in FIXTURES {
        let file = file(&bytes(fixture));
        let mut source = source::FileSource(&file);
        let mut text = source::Text::of(&mut source, std::rc::Rc::default()).unwrap();
        let look = look::look(&mut text).unwrap();
        let fitting: Vec<_> = FORMATS.iter().filter(|row| (row.fits)(&look)).collect();
        let named = |f: &Format| !matches!(f, Format::Csv | Format::Jsonl);
        let owned: Vec<_> = fitting.iter().map(|r| r.format).filter(named).collect();
        match named(format) {
            true => assert_eq!(owned, [*format], "{fixture}"),
            false => {
                assert!(owned.is_empty(), "{fixture}: {owned:?}");
                assert_eq!(fitting.len(), 1, "{fixture}");
            }
        }
    }
}

#[test]
fn every_format_has_one_row_and_one_name() {
    let mut names: Vec<_> = FORMATS.iter().map(|row| row.format.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), FORMATS.len());
    for (format, ..) in FIXTURES {
        assert!(names.contains(&format.as_str()));
    }
    assert_eq!(
        FIXTURES.len() + 1,
        FORMATS.len(),
        "slack is a folder and stands apart"
    );
}

/// A folder of a real disk.
struct OnDisk(PathBuf);

impl Folder for OnDisk {
    fn names(&self) -> std::io::Result<Vec<String>> {
        fn walk(at: &Path, prefix: &str, names: &mut Vec<String>) -> std::io::Result<()> {
            for entry in std::fs::read_dir(at)? {
                let entry = entry?;
                let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
                match entry.file_type()?.is_dir() {
                    true => walk(&entry.path(), &format!("{name}/"), names)?,
                    false => names.push(name),
                }
            }
            Ok(())
        }
        let mut names = Vec::new();
        walk(&self.0, "", &mut names)?;
        names.sort();
        Ok(names)
    }

    fn open(&self, name: &str) -> std::io::Result<Box<dyn std::io::Read + '_>> {
        Ok(Box::new(File::open(self.0.join(name))?))
    }
}
