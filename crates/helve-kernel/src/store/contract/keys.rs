//! Keys under which a call is repeated and its effect is not.

use super::*;
use crate::store::{IdempotencyKey, RunFilter};

fn key(owner: &str, key: &str, body: &str) -> IdempotencyKey {
    IdempotencyKey {
        owner: owner.to_owned(),
        key: key.to_owned(),
        body: Hash::of(body.as_bytes()),
    }
}

async fn open_with(store: &Kept, run: &Run, key: IdempotencyKey) -> Opened {
    let record = record("run.opened", &run.id);
    let opened = store.open_run(run.clone(), None, Some(key), record);
    opened.await.unwrap()
}

pub async fn a_key_opens_one_run(store: Kept) {
    let first = a_run();
    let same = Opened::Same(first.id.clone());
    for (owner, word, body, wanted) in [
        ("bob", "k", "read a", Opened::New),
        ("bob", "k", "read a", same.clone()),
        ("bob", "k", "read b", Opened::KeyTaken),
        ("bob", "k2", "read b", Opened::New),
        ("eve", "k", "read b", Opened::New),
        ("bob", "k", "read a", same),
    ] {
        let run = if store.run(&first.id).await.unwrap().is_none() {
            first.clone()
        } else {
            a_run()
        };
        let new = wanted == Opened::New;
        let opened = async { Ok(open_with(&store, &run, key(owner, word, body)).await) };
        assert_eq!(adds(&store, u64::from(new), opened).await, wanted);
        let kept = store.run(&run.id).await.unwrap();
        assert_eq!(kept, new.then_some(run), "{owner} {word} {body}");
    }
    // A run that could not be opened leaves no key behind.
    let note = record("run.opened", &first.id);
    let twice = store.open_run(first, None, Some(key("bob", "k3", "read a")), note);
    fails(&store, twice).await;
    let opened = open_with(&store, &a_run(), key("bob", "k3", "read b")).await;
    assert_eq!(opened, Opened::New);
}

pub async fn one_of_many_opens_is_new(store: Kept) {
    let opens = at_once(|_| {
        let store = store.clone();
        async move {
            let run = a_run();
            Ok((
                open_with(&store, &run, key("bob", "k", "read a")).await,
                run.id,
            ))
        }
    });
    let opens = adds(&store, 1, async { Ok(opens.await) }).await;
    let runs = store.runs(RunFilter::default(), 99).await.unwrap();
    assert_eq!(runs.len(), 1);
    for (opened, id) in opens {
        let mine = id == runs[0].id;
        let wanted = if mine {
            Opened::New
        } else {
            Opened::Same(runs[0].id.clone())
        };
        assert_eq!(opened, wanted);
    }
}
