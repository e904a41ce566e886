//! The C library's conventions for dates, times and the decimal point, without changing those of the process.

use crate::SysError;
use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;

/// Conventions of a locale (locale(7)).
#[derive(Debug)]
pub struct Locale(libc::locale_t);

impl Locale {
    /// The conventions for times of the locale `time` and for numbers of the locale `numeric`, for example
    /// `en_US.UTF-8`. If one is not installed, its part is that of the C locale.
    ///
    /// # Errors
    /// Out of memory.
    pub fn named(time: &str, numeric: &str) -> Result<Self, SysError> {
        // SAFETY: the name is a string that ends in 0, and a null base asks for a new object.
        let base = unsafe { libc::newlocale(libc::LC_ALL_MASK, c"C".as_ptr(), std::ptr::null_mut()) };
        if base.is_null() {
            return Err(SysError::call("newlocale", std::io::Error::last_os_error()));
        }
        let mut locale = Locale(base);
        for (mask, name) in [(libc::LC_TIME_MASK, time), (libc::LC_NUMERIC_MASK, numeric)] {
            let Ok(name) = CString::new(name) else { continue };
            // SAFETY: the name ends in 0, and the base belongs to this object alone. The call replaces it, or leaves it
            // unchanged if there is no such locale.
            let changed = unsafe { libc::newlocale(mask, name.as_ptr(), locale.0) };
            if !changed.is_null() {
                locale.0 = changed;
            }
        }
        Ok(locale)
    }

    /// Formats a local time, given in seconds since the epoch, as strftime(3) does. Empty if it is longer than 500
    /// bytes.
    pub fn time(&self, format: &CStr, epoch_seconds: i64) -> String {
        let mut parts = MaybeUninit::<libc::tm>::zeroed();
        // SAFETY: both pointers are valid for the call; the time zone is read once and stays in the C library.
        let filled = unsafe { libc::localtime_r(&raw const epoch_seconds, parts.as_mut_ptr()) };
        if filled.is_null() {
            return String::new();
        }
        let mut text = [0_u8; 500];
        // SAFETY: localtime_r has filled `parts`, the text has the length given, and the locale lives as long as
        // `self`.
        let length = unsafe { libc::strftime_l(text.as_mut_ptr().cast(), text.len(), format.as_ptr(), filled, self.0) };
        String::from_utf8_lossy(&text[..length]).into_owned()
    }

    /// The sign between a number's integer part and its decimals.
    pub fn decimal_point(&self) -> String {
        // SAFETY: the locale lives as long as `self`; the item is one of the C library's own.
        let point = unsafe { libc::nl_langinfo_l(libc::RADIXCHAR, self.0) };
        // SAFETY: the C library returns a string that ends in 0; it is copied before the locale is freed.
        unsafe { CStr::from_ptr(point) }.to_string_lossy().into_owned()
    }
}

impl Drop for Locale {
    fn drop(&mut self) {
        // SAFETY: the object belongs to `self` alone and is not used afterwards.
        unsafe { libc::freelocale(self.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locale_that_is_not_installed_is_the_c_locale() {
        for (time, numeric) in [("C", "POSIX"), ("xx_YY.UTF-8", "xx_YY.UTF-8"), ("nul\0byte", "")] {
            let locale = Locale::named(time, numeric).unwrap();
            assert_eq!(locale.time(c"%x %X", 0).len(), "01/01/70 00:00:00".len(), "{time}");
            assert_eq!(locale.time(c"%s", 1_795_355_129), "1795355129");
            assert_eq!(locale.decimal_point(), ".", "{numeric}");
        }
    }
}
