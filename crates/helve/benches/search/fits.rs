//! How often the search says that nothing fits: where it should, and where it should not.

use helve_core::search::{Fit, Index, Query};

use crate::made::Random;
use crate::sets::{Request, Set};

/// Requests of each kind that each hub is asked.
const ASKED: usize = 20;

/// Of hubs drawn from the sets, asked what they have a tool for and what another set's
/// tools are for. Some of these they have a tool for as well, so not all can be refused.
pub(crate) fn print(sets: &[Set]) {
    println!(
        "{:<16} {:^21}   {:^21}",
        "percent that get", "own requests", "requests of others"
    );
    println!(
        "{:<16} {:>10} {:>10}   {:>10} {:>10}",
        "tools in the hub", "nothing", "weak", "nothing", "weak"
    );
    for (size, hubs) in [(20, 40), (60, 20), (200, 10), (500, 5)] {
        let mut random = Random(size as u64);
        let mut counts = [[0usize; 3]; 2];
        for (i, set) in sets
            .iter()
            .enumerate()
            .filter(|(_, s)| s.tools.len() >= size)
        {
            let others = sets.iter().enumerate().filter(|(j, _)| *j != i);
            let others: Vec<&Set> = others.map(|(_, s)| s).collect();
            for _ in 0..hubs {
                let own: Vec<&Request> =
                    (0..size / 2).map(|_| random.pick(&set.requests)).collect();
                let index = hub(set, &own, size, &mut random);
                for _ in 0..ASKED {
                    let other = *random.pick(&others);
                    let other = random.pick(&other.requests);
                    for (kind, request) in [*random.pick(&own), other].into_iter().enumerate() {
                        let found = index.search(&Query::new(request.text.as_str()));
                        counts[kind][found.fit as usize] += 1;
                    }
                }
            }
        }
        let share = |kind: usize, fit: Fit| {
            let all: usize = counts[kind].iter().sum();
            100.0 * counts[kind][fit as usize] as f64 / all.max(1) as f64
        };
        println!(
            "{size:<16} {:>10.1} {:>10.1}   {:>10.1} {:>10.1}",
            share(0, Fit::Nothing),
            share(0, Fit::Weak),
            share(1, Fit::Nothing),
            share(1, Fit::Weak)
        );
    }
    println!();
}

/// Tools of a set, those that some requests want among them.
fn hub(set: &Set, own: &[&Request], size: usize, random: &mut Random) -> Index {
    let wanted = own.iter().flat_map(|r| &r.wanted).filter_map(|w| w.first());
    let mut keys: Vec<&str> = wanted.map(String::as_str).collect();
    keys.sort_unstable();
    keys.dedup();
    while keys.len() < size {
        let key = random.pick(&set.tools).key.as_str();
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let mut index = Index::new();
    let tools = set.tools.iter().filter(|t| keys.contains(&t.key.as_str()));
    tools.for_each(|t| index.upsert(t));
    index
}
