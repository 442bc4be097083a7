//! What is done with a hostile export. The fuzz target and the replay of its corpus run this
//! same function; it panics when something that must hold does not.

use std::io::{self, Cursor, Read};

use helve_chatlog::formats::{read, write_message};
use helve_chatlog::{DateOrder, Folder, Input, Message, Options, Person, Sink, Stop};

/// One file, in memory.
struct One<'o>(&'o str, &'o [u8]);

impl Folder for One<'_> {
    fn names(&self) -> io::Result<Vec<String>> {
        Ok(vec![self.0.to_owned()])
    }

    fn open(&self, _: &str) -> io::Result<Box<dyn Read + '_>> {
        Ok(Box::new(Cursor::new(self.1)))
    }
}

#[derive(Default)]
struct Seen {
    messages: Vec<Message>,
    progress: u64,
}

impl Sink for Seen {
    fn message(&mut self, message: Message) -> Result<(), Stop> {
        self.messages.push(message);
        Ok(())
    }

    fn person(&mut self, person: Person) -> Result<(), Stop> {
        drop(person);
        Ok(())
    }

    fn malformed(&mut self, place: u64, why: String) -> Result<(), Stop> {
        assert!(place > 0, "a place is counted from 1: {why}");
        Ok(())
    }

    fn progress(&mut self, bytes: u64) -> Result<(), Stop> {
        assert!(bytes >= self.progress, "progress runs forward");
        self.progress = bytes;
        Ok(())
    }
}

fn read_as(name: &str, bytes: &[u8], options: &Options) -> Option<Vec<Message>> {
    let mut seen = Seen::default();
    let input = Input::Folder(Box::new(One(name, bytes)));
    read(input, "x", options, &mut seen).ok()?;
    Some(seen.messages)
}

/// Whatever is read twice is the same, and what is written again is read back as it was.
pub(crate) fn chat_export(bytes: &[u8]) {
    let options = Options {
        dates: Some(DateOrder::DayMonthYear),
        accept_cut: bytes.len().is_multiple_of(2),
        ..Options::default()
    };
    let Some(messages) = read_as("chat.txt", bytes, &options) else {
        return;
    };
    assert!(
        !messages.is_empty(),
        "an export without a message is an error"
    );
    // The name of the file may only be the name of the chat.
    let again = read_as("chat.json", bytes, &options).expect("it was read before");
    assert_eq!(again.len(), messages.len());
    let mut own = Vec::new();
    for message in &messages {
        write_message(&mut own, message).expect("memory can be written");
    }
    assert_eq!(read_as("own.jsonl", &own, &options), Some(messages));
}
