//! What no gateway can do without: every byte of a connection is read and written once more, in
//! both directions, by a thread that waits for nothing else. It knows nothing of what it carries.
//!
//! ```sh
//! cargo run --release -p helve-mcp --example gateway_floor -- 127.0.0.1:0 127.0.0.1:7000
//! ```

use std::error::Error;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let (Some(here), Some(there)) = (words.next(), words.next()) else {
        return Err("usage: gateway_floor ADDRESS ADDRESS-BEHIND".into());
    };
    for client in TcpListener::bind(here)?.incoming() {
        let client = client?;
        let server = TcpStream::connect(&there)?;
        for stream in [&client, &server] {
            stream.set_nodelay(true)?;
        }
        let (asked, answered) = (client.try_clone()?, server.try_clone()?);
        thread::spawn(move || carry(client, server));
        thread::spawn(move || carry(answered, asked));
    }
    Ok(())
}

/// Carries what comes, until there is no more.
fn carry(mut from: TcpStream, mut to: TcpStream) {
    let mut room = [0; 16 * 1024];
    while let Ok(length @ 1..) = from.read(&mut room) {
        if to.write_all(&room[..length]).is_err() {
            break;
        }
    }
    // Whoever is gone hears nothing any more.
    let _ = to.shutdown(Shutdown::Write);
}
