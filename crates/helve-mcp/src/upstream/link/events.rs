//! Server-sent events, out of bytes as they come, none larger than allowed.

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) kind: Option<String>,
    pub(crate) data: Option<String>,
    pub(crate) id: Option<String>,
    pub(crate) retry: Option<u64>,
}

/// Too many bytes without an end.
#[derive(Debug)]
pub(crate) struct TooLarge;

/// Reads events.
pub(crate) struct Events {
    limit: usize,
    line: Vec<u8>,
    event: Event,
    size: usize,
    after_return: bool,
    begun: bool,
}

impl Events {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            event: Event::default(),
            size: 0,
            after_return: false,
            begun: false,
        }
    }

    /// Takes more bytes, and gives the events that are whole now.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) -> Result<Vec<Event>, TooLarge> {
        let mut found = Vec::new();
        while !bytes.is_empty() {
            if self.after_return && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                self.after_return = false;
                continue;
            }
            self.after_return = false;
            let end = bytes.iter().position(|b| *b == b'\n' || *b == b'\r');
            let part = &bytes[..end.unwrap_or(bytes.len())];
            self.size += part.len();
            if self.size > self.limit {
                return Err(TooLarge);
            }
            self.line.extend_from_slice(part);
            let Some(end) = end else { break };
            self.after_return = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            let line = std::mem::take(&mut self.line);
            found.extend(self.take(&line));
        }
        Ok(found)
    }

    fn take(&mut self, line: &[u8]) -> Option<Event> {
        let line = String::from_utf8_lossy(line);
        let mut line = line.as_ref();
        if !self.begun {
            line = line.strip_prefix('\u{feff}').unwrap_or(line);
            self.begun = true;
        }
        if line.is_empty() {
            self.size = 0;
            let event = std::mem::take(&mut self.event);
            return (event != Event::default()).then_some(event);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.event.kind = Some(value.to_owned()),
            "data" => match &mut self.event.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.event.data = Some(value.to_owned()),
            },
            "id" if !value.contains('\0') => self.event.id = Some(value.to_owned()),
            "retry" => self.event.retry = value.parse().ok(),
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{Event, Events};

    #[test]
    fn events_come_whole_however_they_are_cut() {
        let text = "\u{feff}: hello\r\nid: 7\rdata: {\"a\":\ndata: 1}\n\nevent: endpoint\ndata:/x\r\n\r\nretry: 5\n\n";
        let wanted = vec![
            Event {
                id: Some("7".to_owned()),
                data: Some("{\"a\":\n1}".to_owned()),
                ..Event::default()
            },
            Event {
                kind: Some("endpoint".to_owned()),
                data: Some("/x".to_owned()),
                ..Event::default()
            },
            Event {
                retry: Some(5),
                ..Event::default()
            },
        ];
        for step in 1..text.len() {
            let mut events = Events::new(1000);
            let parts = text.as_bytes().chunks(step);
            let found: Vec<Event> = parts.flat_map(|p| events.feed(p).unwrap()).collect();
            assert_eq!(found, wanted, "cut every {step}");
        }
    }

    #[test]
    fn an_event_without_end_is_refused() {
        let mut events = Events::new(10);
        assert!(events.feed(b"data: 123456789").is_err());
    }
}
