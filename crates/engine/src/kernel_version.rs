//! The version of the kernel, where nothing else says what it does.

/// Version of a kernel, such as 6.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct KernelVersion(pub(crate) u32, pub(crate) u32);

/// Version of this kernel.
pub(crate) fn of_this_kernel() -> KernelVersion {
    let system = rustix::system::uname();
    let release = system.release().to_str().unwrap_or_default();
    let mut numbers = release.split(|other: char| !other.is_ascii_digit()).map_while(|number| number.parse().ok());
    KernelVersion(numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_version_is_greater() {
        assert!(of_this_kernel() > KernelVersion(3, 0));
        assert!(KernelVersion(6, 12) > KernelVersion(6, 1) && KernelVersion(6, 1) > KernelVersion(5, 19));
    }
}
