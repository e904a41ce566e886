//! A result without what names a machine, a person or a place: to show it to others.

use crate::error::StoreError;
use crate::host::{Host, hashed};
use crate::schema::Store;
use serde_json::Value;
use std::collections::BTreeSet;

/// Characters that end a word in options and messages.
const ENDS: &[char] = &[' ', '\t', '\n', '"', '\'', '=', ',', ':', ';', '(', ')', '[', ']', '<', '>'];

/// The result with each path and each of `secrets` (names of hosts, serial numbers) replaced by a short hash: the same word
/// has the same hash, so that the tests of one place are still seen to be of one place.
///
/// # Errors
/// The text is not JSON.
pub fn redacted(result: &[u8], secrets: &[String]) -> Result<Vec<u8>, StoreError> {
    let refused = |error: serde_json::Error| StoreError::NotAResult { why: error.to_string() };
    let mut root: Value = serde_json::from_slice(result).map_err(refused)?;
    let mut words: BTreeSet<String> = secrets.iter().filter(|secret| secret.len() > 2).cloned().collect();
    // A target or mount point is a secret where it stands without its slash, too.
    named_files(&root, &mut words);
    replace(&mut root, &words);
    let mut bytes = serde_json::to_vec(&root).map_err(refused)?;
    bytes.push(b'\n');
    Ok(bytes)
}

impl Store {
    /// The serial numbers and UUIDs of a run, for [`redacted`].
    ///
    /// # Errors
    /// There is no such run.
    pub fn secrets(&self, word: &str) -> Result<Vec<String>, StoreError> {
        let number = self.number(word)?;
        let about: String =
            self.ask(|db| db.query_row("SELECT host FROM run WHERE number = ?1", [number], |row| row.get(0)))?;
        let host: Host = serde_json::from_str(&about).unwrap_or_default();
        Ok(host.serials.into_values().chain(host.file_systems.into_values()).collect())
    }
}

/// Relative names of files in the fields that hold paths.
fn named_files(value: &Value, words: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    Value::String(text) if key == "path" && text.len() > 2 => drop(words.insert(text.clone())),
                    Value::Array(paths) if key == "paths" => {
                        words.extend(
                            paths.iter().filter_map(Value::as_str).filter(|path| path.len() > 2).map(str::to_owned),
                        );
                    }
                    _ => named_files(value, words),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| named_files(value, words)),
        _ => {}
    }
}

fn replace(value: &mut Value, words: &BTreeSet<String>) {
    match value {
        Value::String(text) => *text = replaced(text, words),
        Value::Array(values) => values.iter_mut().for_each(|value| replace(value, words)),
        Value::Object(fields) => fields.values_mut().for_each(|value| replace(value, words)),
        _ => {}
    }
}

fn replaced(text: &str, words: &BTreeSet<String>) -> String {
    if words.contains(text) {
        return format!("redacted-{}", &hashed(text)[..8]);
    }
    let mut shown = String::new();
    for part in text.split_inclusive(ENDS) {
        let word = part.trim_end_matches(ENDS);
        let secret = words.contains(word) || (word.len() > 1 && word.starts_with('/'));
        if secret {
            shown.push_str(&format!("redacted-{}", &hashed(word)[..8]));
            shown.push_str(&part[word.len()..]);
        } else {
            shown.push_str(part);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_serial_numbers_are_hashes_and_numbers_stay() {
        let result = br#"{"a":1.5,"path":"mine.dat","command":["plumb","--filename=/home/ada/x","mine.dat"],
            "note":"SERIAL7 on /data: slow (see /data)","kernel":"6.1"}"#;
        let shown = String::from_utf8(redacted(result, &["SERIAL7".to_owned()]).unwrap()).unwrap();
        for secret in ["ada", "mine", "SERIAL7", "/data"] {
            assert!(!shown.contains(secret), "{secret} in {shown}");
        }
        assert!(shown.contains("\"a\":1.5") && shown.contains("\"6.1\"") && shown.contains(": slow (see "), "{shown}");
        let hash = format!("redacted-{}", &hashed("/data")[..8]);
        assert_eq!(shown.matches(&hash).count(), 2, "{shown}");
        assert!(redacted(b"no", &[]).is_err());
    }
}
