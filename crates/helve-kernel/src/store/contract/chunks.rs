//! What runs write.

use super::*;
use crate::run::{Chunk, Stream};

fn chunk(seq: u64, stream: Stream, bytes: &[u8]) -> Chunk {
    let at = At(2_000 + i64::try_from(seq).unwrap());
    Chunk {
        seq,
        stream,
        at,
        bytes: bytes.to_vec(),
    }
}

pub async fn what_a_run_wrote_is_kept_in_order(store: Kept) {
    let (one, two) = (a_run(), a_run());
    open(&store, &one, None).await;
    open(&store, &two, None).await;
    let every: Vec<u8> = (0..=255).collect();
    let all = [
        chunk(1, Stream::Stdout, b"first\n"),
        chunk(2, Stream::Stderr, &every),
        chunk(3, Stream::Stdout, b""),
        chunk(4, Stream::Stdout, &vec![7; 100_000]),
        chunk(5, Stream::Stderr, "中".as_bytes()),
    ];
    let others = [chunk(1, Stream::Stderr, b"of the other")];
    for (run, chunks) in [
        (&one, &all[..2]),
        (&two, &others),
        (&one, &all[2..]),
        (&one, &[]),
    ] {
        adds(&store, 0, store.append_chunks(&run.id, chunks.to_vec())).await;
    }
    for (after, limit, wanted) in [
        (0, 99, &all[..]),
        (0, 2, &all[..2]),
        (2, 2, &all[2..4]),
        (4, 2, &all[4..]),
        (5, 2, &[]),
        (u64::MAX, 2, &[]),
        (0, 0, &[]),
    ] {
        let found = store.chunks(&one.id, after, limit).await.unwrap();
        assert_eq!(found, wanted, "after {after}, {limit}");
    }
    assert_eq!(store.chunks(&two.id, 0, 9).await.unwrap(), others);
    assert_eq!(store.chunks(&RunId::fresh(), 0, 9).await.unwrap(), []);
}

pub async fn chunks_need_a_run_and_a_new_number(store: Kept) {
    let run = a_run();
    let first = chunk(1, Stream::Stdout, b"first");
    fails(&store, store.append_chunks(&run.id, vec![first.clone()])).await;
    open(&store, &run, None).await;
    store
        .append_chunks(&run.id, vec![first.clone()])
        .await
        .unwrap();
    let again = [2, 1].map(|seq| chunk(seq, Stream::Stdout, b"again"));
    fails(&store, store.append_chunks(&run.id, again.into())).await;
    assert_eq!(store.chunks(&run.id, 0, 9).await.unwrap(), [first]);
}
