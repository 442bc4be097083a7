use proptest::prelude::*;

use super::{BLOCK, Candidate, Norm, Scratch, gather};
use crate::search::Document;
use crate::search::plan::Plan;
use crate::search::rank::{CANDIDATES, CLAUSE_CANDIDATES, Looks, gains};
use crate::search::store::Store;

/// Words from common to rare, as texts have them.
fn text(ranks: &[u32]) -> String {
    let words = ranks.iter().map(|rank| format!("w{}", rank * rank / 90));
    words.collect::<Vec<_>>().join(" ")
}

fn store(texts: &[Vec<u32>], copies: usize) -> Store {
    let mut store = Store::default();
    for i in 0..texts.len() * copies {
        let description = text(&texts[i % texts.len()]);
        store.upsert(&Document {
            key: format!("k{i}"),
            name: format!("n{}", i * 7919 % 1000),
            // Lengths differ, so that not all copies are alike.
            description: format!("{description}{}", " filler".repeat(i % 13)),
            ..Document::default()
        });
    }
    store
}

/// Every document scored in whole, and the best of them by sorting all.
fn everything(
    looks: &Looks<'_>,
    clauses: usize,
    store: &Store,
    allowed: &dyn Fn(u32) -> bool,
) -> (Vec<Candidate>, Candidate) {
    let clauses = if clauses > 1 { clauses } else { 0 };
    let norm = Norm::of(store);
    let mut all = Vec::new();
    for slot in (0..store.extent() as u32).filter(|slot| allowed(*slot)) {
        let mut candidate = Candidate {
            slot,
            ..Candidate::default()
        };
        for look in &looks.looks {
            let lists = looks.lists[look.lists.clone()].iter();
            let strength: f32 = lists
                .filter_map(|(list, weight)| {
                    let at = list.binary_search_by_key(&slot, |p| p.slot).ok()?;
                    Some(weight * f32::from(list[at].strength))
                })
                .fold(0.0, |a, b| a + b);
            let points = norm.points(look.gain, strength, norm.lengths[slot as usize]);
            candidate.full += points;
            for clause in (0..clauses).filter(|c| look.clauses >> c & 1 == 1) {
                candidate.clauses[clause] += points;
            }
        }
        all.push(candidate);
    }
    let mut most = Candidate::default();
    let mut kept = Vec::new();
    let mut keep = |count: usize, score: &dyn Fn(&Candidate) -> f32, most: &mut f32| {
        let mut some: Vec<&Candidate> = all.iter().filter(|c| score(c) > 0.0).collect();
        some.sort_by(|a, b| {
            let by_score = score(b).total_cmp(&score(a));
            by_score.then_with(|| store.by_name(a.slot, b.slot))
        });
        *most = some.first().map_or(0.0, |c| score(c));
        kept.extend(some.iter().take(count).map(|c| c.slot));
    };
    keep(CANDIDATES, &|c| c.full, &mut most.full);
    for (i, most) in most.clauses.iter_mut().enumerate().take(clauses) {
        keep(CLAUSE_CANDIDATES, &|c| c.clauses[i], most);
    }
    all.retain(|c| kept.contains(&c.slot));
    (all, most)
}

fn check(store: &Store, asked: &str, hidden: u32) -> Result<(), TestCaseError> {
    let plan = Plan::of(asked, store);
    let gains = gains(&plan, store);
    let looks = Looks::of(&plan, &gains, 1.0, store);
    let mut scratch = Scratch::default();
    let allowed = |slot: u32| hidden == 0 || slot % 7 != hidden;
    let filter: Option<&dyn Fn(u32) -> bool> = (hidden != 0).then_some(&allowed);
    let wanted = everything(&looks, plan.clauses, store, &allowed);
    // Twice, because the second finds what the first left in its room.
    for _ in 0..2 {
        let found = gather(
            &looks,
            plan.clauses,
            CANDIDATES,
            store,
            &mut scratch,
            filter,
        );
        prop_assert_eq!(&found, &wanted, "{}", asked);
    }
    Ok(())
}

fn words(most: usize) -> impl Strategy<Value = Vec<u32>> {
    prop::collection::vec(0..120u32, 1..most)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn what_is_left_out_could_not_have_been_kept(
        texts in prop::collection::vec(words(20), 20..120),
        asked in prop::collection::vec(words(10), 1..4),
        hidden in 0..4u32,
    ) {
        // Several blocks, so that the later ones meet those that know the best.
        let store = store(&texts, 1 + 3 * BLOCK / texts.len());
        let asked: Vec<String> = asked.iter().map(|a| text(a)).collect();
        check(&store, &asked.join(". "), hidden)?;
    }
}
