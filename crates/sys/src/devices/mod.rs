//! Block devices: identity and properties, ioctls, and claims on them.

pub mod claims;
pub mod identity;
pub mod ioctl;
