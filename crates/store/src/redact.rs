//! A result without what names a machine, a person or a place: to show it to others.

use crate::error::StoreError;
use model::Surroundings;
use serde::Deserialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

/// Characters that end a word in options and messages.
const ENDS: &[char] = &[' ', '\t', '\n', '"', '\'', '=', ',', ':', ';', '(', ')', '[', ']', '<', '>'];

/// The result with each path, serial number and UUID in it, and each of `secrets` (names of hosts), replaced by a short
/// hash: the same word has the same hash, so that the tests of one place are still seen to be of one place.
///
/// # Errors
/// The text is not JSON.
pub fn redacted(result: &[u8], secrets: &[String]) -> Result<Vec<u8>, StoreError> {
    let refused = |error: serde_json::Error| StoreError::NotAResult(error.to_string());
    let mut root: Value = serde_json::from_slice(result).map_err(refused)?;
    let mut words: BTreeSet<String> = secrets.iter().filter(|secret| secret.len() > 2).cloned().collect();
    // A target or mount point is a secret where it stands without its slash, too.
    named_files(&root, &mut words);
    for stated in [root.get("surroundings"), root.pointer("/result/surroundings")].into_iter().flatten() {
        words.extend(Surroundings::deserialize(stated).map(identifiers).unwrap_or_default());
    }
    replace(&mut root, &words);
    let mut bytes = serde_json::to_vec(&root).map_err(refused)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// A text that commands print, with each path in it replaced by a short hash.
pub fn redacted_text(text: &str) -> String {
    replaced(text, &BTreeSet::new())
}

/// The identifiers of devices, file systems and the machine.
fn identifiers(surroundings: Surroundings) -> Vec<String> {
    let Surroundings { machine, serials, file_systems, .. } = surroundings;
    serials.into_values().chain(file_systems.into_values()).chain(machine).collect()
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
        Value::Object(fields) => {
            fields.values_mut().for_each(|value| replace(value, words));
            // UUIDs of file systems have their mount points as names.
            if fields.keys().any(|key| key.starts_with('/')) {
                let renamed = std::mem::take(fields).into_iter().map(|(key, value)| (replaced(&key, words), value));
                *fields = renamed.collect::<Map<String, Value>>();
            }
        }
        _ => {}
    }
}

/// The text without paths and these words.
fn replaced(text: &str, words: &BTreeSet<String>) -> String {
    if words.contains(text) {
        return hashed(text);
    }
    // What consists of several words itself is not found word by word.
    let several = words.iter().filter(|word| word.contains(ENDS) && text.contains(word.as_str()));
    let text = several.fold(text.to_owned(), |text, word| text.replace(word.as_str(), &hashed(word)));
    let mut shown = String::new();
    for part in text.split_inclusive(ENDS) {
        let word = part.trim_end_matches(ENDS);
        let secret = words.contains(word) || (word.len() > 1 && word.starts_with('/'));
        if secret {
            shown.push_str(&hashed(word));
            shown.push_str(&part[word.len()..]);
        } else {
            shown.push_str(part);
        }
    }
    shown
}

/// A word that stands for a secret one: the same for the same.
fn hashed(word: &str) -> String {
    let digits: String = Sha256::digest(word.as_bytes()).iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    format!("redacted-{digits}")
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
        let hash = hashed("/data");
        assert_eq!(shown.matches(&hash).count(), 2, "{shown}");
        assert!(redacted(b"no", &[]).is_err());
        let shown = redacted_text("4f1c  random reads, /data (DISK, ext4): 3 runs\n");
        assert_eq!(shown, format!("4f1c  random reads, {} (DISK, ext4): 3 runs\n", hashed("/data")));
        let result =
            br#"{"surroundings":{"machine":"4f1c09aa","serials":{"sda":"S 1 A"},"file_systems":{"/home/ada":"77-88"},
            "facts":[{"key":"serial","value":"S 1 A / S2","kind":"identity"}]}}"#;
        let shown = String::from_utf8(redacted(result, &[]).unwrap()).unwrap();
        for secret in ["ada", "S 1 A", "4f1c09aa", "77-88"] {
            assert!(!shown.contains(secret), "{secret} in {shown}");
        }
        assert!(shown.contains("\"sda\":\"redacted-"), "{shown}");
    }
}
