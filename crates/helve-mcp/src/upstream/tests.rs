//! The gateway against real programs and real sockets, good and bad.

mod calls;
mod first_words;
mod hostile;
mod life;
mod logins;
mod pins;
mod support;
mod talk;
mod web;
