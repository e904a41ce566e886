//! The end of a member's process as a sentence.

/// How a process ended: by a signal, or with a status.
pub fn ending(signal: Option<i32>, status: Option<i32>) -> String {
    match (signal, status) {
        (Some(signal), _) => format!("it was ended by signal {signal}"),
        (None, Some(status)) => format!("it ended with status {status}"),
        (None, None) => "it closed its output".to_owned(),
    }
}
