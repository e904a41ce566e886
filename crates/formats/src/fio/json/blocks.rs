//! The trim block states of a job (`block_states` of fio's JSON).

use crate::tree::{Object, Tree};
use model::{BlockLives, JobResult};
use serde_json::{Map, Value, json};

/// Appends the section if any block was tracked.
pub(super) fn put(job: &mut Map<String, Value>, row: &JobResult) {
    let Some(found) = row.blocks.as_ref().filter(|found| !found.is_empty()) else { return };
    let values = found.percentiles(&row.style.percentiles).unwrap_or_default();
    let named =
        row.style.percentiles.iter().zip(values).map(|(percent, trims)| (format!("{percent:.6}"), json!(trims)));
    let states = found.states().map(|(state, count)| (state.to_owned(), json!(count)));
    let section = json!({
        "percentiles": named.collect::<Map<_, _>>(),
        "states": states.into_iter().collect::<Map<_, _>>(),
    });
    job.insert("block".to_owned(), section);
}

/// Reads the section; `None` if it is missing. fio writes only percentiles of the trim counts, so the counts per block
/// cannot be recovered.
pub(super) fn read(job: &Object<'_>) -> Option<BlockLives> {
    let states = job.get("block")?.get("states")?;
    let count = |state: &str| states.get(state).and_then(Tree::as_whole).unwrap_or(0);
    Some(BlockLives {
        unwritten: count("unwritten"),
        trimmed: count("trimmed"),
        written: count("written"),
        trim_failures: count("trim failure"),
        write_failures: count("write failure"),
        ..BlockLives::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_read_back_and_percentiles_follow_the_jobs_list() {
        let lives = BlockLives {
            unwritten: 1,
            trimmed: 2,
            written: 3,
            trim_failures: 4,
            write_failures: 1,
            lifetimes: [(7, 4), (900, 1)].into(),
        };
        let mut row = JobResult { blocks: Some(lives.clone()), ..JobResult::default() };
        row.style.percentiles = vec![50.0, 99.9];
        let mut job = Map::new();
        put(&mut job, &row);
        assert_eq!(job["block"]["percentiles"], json!({"50.000000": 7, "99.900000": 900}));
        let text = Value::Object(job).to_string();
        let tree = Tree::of(&text).unwrap();
        assert_eq!(read(tree.as_object().unwrap()), Some(BlockLives { lifetimes: [].into(), ..lives }));
        row.blocks = Some(BlockLives::default());
        let mut job = Map::new();
        put(&mut job, &row);
        assert!(job.is_empty() && read(&Object::default()).is_none());
    }
}
