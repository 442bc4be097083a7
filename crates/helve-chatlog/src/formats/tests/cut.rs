//! An export that ends too early, at every byte.

use super::*;

/// Formats in which nothing tells the end of the last message: it may come out shorter.
const OPEN: &[Format] = &[Format::WhatsappTxt, Format::QqTxt, Format::Csv];

fn whole(label: &str, format: Format, got: &Got, expected: &Got) {
    let n = got.messages.len();
    assert!(n <= expected.messages.len(), "{label}: more than there are");
    let open = OPEN.contains(&format) && n > 0;
    let sure = if open { n - 1 } else { n };
    assert_eq!(got.messages[..sure], expected.messages[..sure], "{label}");
    if open {
        let (last, meant) = (&got.messages[n - 1], &expected.messages[n - 1]);
        assert_eq!(
            (&last.chat, &last.sender, last.time),
            (&meant.chat, &meant.sender, meant.time),
            "{label}"
        );
        // What stands for a picture is itself words until it is whole.
        let shorter = meant.text.starts_with(&*last.text) || meant.text.len() < last.text.len();
        assert!(shorter, "{label}: {last:?} is no beginning of {meant:?}");
    }
}

#[test]
fn a_cut_export_gives_whole_messages_or_an_error() {
    for (format, fixture, name, _) in FIXTURES {
        let bytes = bytes(fixture);
        let expected = expected(*format);
        let file = file(&bytes);
        let mut errors = 0;
        for length in (0..bytes.len()).rev() {
            file.set_len(length as u64).unwrap();
            let label = format!("{fixture} cut at {length}");
            let input = || Input::File(file.try_clone().unwrap());
            let (result, got) = run(input(), name, &options());
            match result {
                Ok(_) => whole(&label, *format, &got, &expected),
                Err(_) => errors += 1,
            }
            if length % 5 == 0 {
                let accepting = Options {
                    accept_cut: true,
                    ..options()
                };
                let (result, got) = run(input(), name, &accepting);
                if let Ok(found) = result
                    && found == *format
                {
                    let named = |m: &Message| m.chat.id == expected.messages[0].chat.id;
                    if got.messages.iter().all(named) {
                        let times =
                            |got: &Got| -> Vec<_> { got.messages.iter().map(|m| m.time).collect() };
                        let n = got.messages.len();
                        assert_eq!(times(&got), times(&expected)[..n], "{label}, accepted");
                    }
                }
            }
        }
        assert!(
            errors > bytes.len() / 20,
            "{fixture}: a cut is hardly ever seen"
        );
    }
}

#[test]
fn a_cut_document_says_so_and_can_be_taken_up_to_there() {
    let bytes = bytes("chatlog_json.json");
    let cut = &bytes[..bytes.len() - 40];
    let (result, _) = of(cut, "x.json");
    assert!(
        matches!(result, Err(ReadError::Cut { place: 16 })),
        "{result:?}"
    );
    let accepting = Options {
        accept_cut: true,
        ..options()
    };
    let (result, got) = run(Input::File(file(cut)), "x.json", &accepting);
    assert_eq!(result.unwrap(), Format::ChatlogJson);
    assert_eq!(got.messages, expected(Format::ChatlogJson).messages[..14]);
    assert_eq!(got.malformed.last().unwrap().0, 16);
}

#[test]
fn a_table_that_ends_within_quotes_is_cut() {
    let head = "Time,SenderName,Sender,TalkerName,Talker,Content\n";
    let one = "2024-03-05 09:00:00,A,a,B,b,whole\n";
    for rest in [
        "2024-03-05 09:00:01,A,a,B,b,\"open",
        "2024-03-05 09:00:01,A,a,B,b,\"open\n",
        "2024-03-05 09:00:01,A,a,B,b,\"open\n2024-03-05 09:00:02,A,a,B,b,x\n",
        "2024-03-05 09:00:01,A,a,B,b,ope",
        "2024-03-05 09:0",
    ] {
        let (result, _) = of(format!("{head}{one}{rest}").as_bytes(), "x.csv");
        assert!(
            matches!(result, Err(ReadError::Cut { place: 3 })),
            "{rest}: {result:?}"
        );
    }
}

/// Nobody's table may lack its last line end, but not the end of a quote.
#[test]
fn a_nameless_table_may_lack_its_last_line_end() {
    let table = |rest: &str| {
        of(
            format!("time,sender,text\n1709600000,a,{rest}").as_bytes(),
            "x",
        )
    };
    let (result, got) = table("whole");
    assert_eq!(
        (result.unwrap(), &*got.messages[0].text),
        (Format::Csv, "whole")
    );
    assert!(matches!(
        table("\"open").0,
        Err(ReadError::Cut { place: 2 })
    ));
    assert!(matches!(
        table("x\n1709600001,a").0,
        Err(ReadError::Cut { place: 3 })
    ));
}
