//! Words and what must come of them, through the crate's public face.

mod abilities;
mod arguments;
mod echo;
mod extremes;
mod files;
mod malformed;
mod oracle;
mod semantics;
mod timing;
mod verify;
mod wild;
