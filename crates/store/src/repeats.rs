//! Repeats at any distance, each as a reference to its first place: deflate finds only those within its last 32 KiB, and a result says
//! the same of each of its workers and tests. Text that results have in common is known beforehand, so it takes no room at all.

use crate::packed::{put, take};
use std::collections::HashMap;

/// Shortest repeat that is found, in bytes; deflate is good at shorter ones.
const SHORTEST: usize = 32;

/// Bytes without their repeats, and without what repeats `known`: the length, the references, what is left.
pub(crate) fn without_repeats(known: &[u8], bytes: &[u8]) -> Vec<u8> {
    let all = [known, bytes].concat();
    let mut places: HashMap<&[u8], usize> = HashMap::new();
    let (mut references, mut left) = (Vec::new(), Vec::new());
    let (mut at, mut done, mut indexed) = (known.len(), known.len(), 0);
    while at + SHORTEST <= all.len() {
        while indexed + SHORTEST <= at {
            places.insert(&all[indexed..indexed + SHORTEST], indexed);
            indexed += SHORTEST;
        }
        let Some(&place) = places.get(&all[at..at + SHORTEST]) else {
            at += 1;
            continue;
        };
        let after = all[at..].iter().zip(&all[place..]).take_while(|(one, other)| one == other).count();
        let before = all[done..at].iter().rev().zip(all[..place].iter().rev());
        let before = before.take_while(|(one, other)| one == other).count();
        for number in [at - before - done, before + after, at - place] {
            put(&mut references, number as u128);
        }
        left.extend_from_slice(&all[done..at - before]);
        at += after;
        done = at;
    }
    left.extend_from_slice(&all[done..]);
    let mut short = Vec::with_capacity(references.len() + left.len() + 16);
    put(&mut short, references.len() as u128);
    short.extend_from_slice(&references);
    short.extend_from_slice(&left);
    short
}

/// The bytes with their repeats; `None` if there is no such repeat, or if they are more than `largest`.
pub(crate) fn with_repeats(known: &[u8], short: &[u8], largest: u64) -> Option<Vec<u8>> {
    let mut rest = short;
    let length = usize::try_from(take(&mut rest)?).ok()?;
    let (mut references, mut left) = rest.split_at_checked(length)?;
    let largest = usize::try_from(largest).ok()?.checked_add(known.len())?;
    let mut all = known.to_vec();
    let number = |references: &mut &[u8]| usize::try_from(take(references)?).ok();
    while !references.is_empty() {
        let (new, repeated) = (number(&mut references)?, number(&mut references)?);
        let distance = number(&mut references)?;
        let (these, others) = left.split_at_checked(new)?;
        all.extend_from_slice(these);
        left = others;
        let from = all.len().checked_sub(distance).filter(|_| distance > 0)?;
        if repeated > largest.checked_sub(all.len())? {
            return None;
        }
        // A repeat that is longer than its distance repeats itself.
        for at in from..from + repeated {
            all.push(all[at]);
        }
    }
    all.extend_from_slice(left);
    (all.len() <= largest).then(|| all.split_off(known.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(known: &[u8], bytes: &[u8]) -> usize {
        let short = without_repeats(known, bytes);
        assert_eq!(with_repeats(known, &short, 1 << 20).as_deref(), Some(bytes));
        short.len()
    }

    #[test]
    fn a_repeat_takes_some_bytes_at_any_distance() {
        let mut random = measure::SplitMix::new(3);
        let mut noise = |length: usize| {
            (0..length).map(|_| u8::try_from(random.next_word() & 255).unwrap_or(0)).collect::<Vec<u8>>()
        };
        let (known, text, between) = (noise(500), noise(1_000), noise(200_000));
        assert!(check(&[], &[text.as_slice(), &between, &text].concat()) <= 201_020);
        assert!(check(&known, &[&known[100..], &text].concat()) <= 1_070, "what is known takes no room");
        assert!(check(&[], &[b'x'; 100_000]) <= 100, "a repeat of itself");
        assert_eq!(check(&known, &text), 1_001, "nothing to be found");
        for length in [0, 1, 31, 32, 33, 63, 64, 65] {
            assert!(check(&text[..64], &[b'y'; 65][..length]) <= length + 2);
        }
    }

    #[test]
    fn references_to_nothing_and_endless_ones_are_refused() {
        let with = |numbers: &[u128], left: &[u8]| {
            let mut references = Vec::new();
            numbers.iter().for_each(|&number| put(&mut references, number));
            let mut short = vec![u8::try_from(references.len()).unwrap()];
            short.extend(references);
            short.extend_from_slice(left);
            with_repeats(b"known", &short, 1_000)
        };
        assert_eq!(with(&[1, 4, 6], b"ab").as_deref(), Some(&b"aknowb"[..]));
        for bad in [&[1, 4, 7][..], &[1, 4, 0], &[3, 4, 1], &[1, 1_000, 1], &[1, u128::MAX, 1], &[1, 4], &[1]] {
            assert_eq!(with(bad, b"ab"), None, "{bad:?}");
        }
        assert_eq!(with(&[], &[0; 1_001]), None);
        assert_eq!((with_repeats(b"", &[], 9), with_repeats(b"", &[1], 9)), (None, None));
    }

    proptest! {
        #[test]
        fn the_same_bytes_come_back(known in "[ab]{0,80}", bytes in "[ab]{0,300}") {
            check(known.as_bytes(), bytes.as_bytes());
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = with_repeats(b"known", &bytes, 1_000);
        }
    }
}
