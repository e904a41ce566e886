//! Block devices: identity and properties, the words that name one, ioctls, and claims on them.

pub mod backing;
pub mod claims;
pub mod identity;
pub mod ioctl;
pub mod own_words;
pub mod thin;
mod writers;
pub mod zones;
