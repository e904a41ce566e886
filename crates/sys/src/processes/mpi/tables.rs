//! The three ABIs: how MPI's handles, constants and statuses look in memory.
//!
//! MPICH's handles are numbers of 32 bits, Open MPI's are addresses of objects in the library, the standard ABI's (MPI
//! 5) are small numbers as wide as an address. Sources: the MPI 5.0 standard, chapter 20, and the public headers of
//! MPICH and Open MPI.

use super::MpiError;
use super::calls::{call, function};
use libloading::os::unix::Library;
use std::ffi::{c_char, c_int, c_void};

/// Bytes for the text of a version or an error, more than any MPI writes.
pub(super) const TEXT: usize = 8192 + 1;
/// Families whose handles are MPICH's, by their ABI initiative.
const MPICH_FAMILY: &[&str] = &["MPICH", "Intel(R) MPI", "MVAPICH", "CRAY MPI", "ParaStation MPI"];

/// A handle of Open MPI and of the standard ABI.
pub(super) type Address = *mut c_void;

/// The constants of an ABI.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table<H> {
    pub(super) world: H,
    pub(super) byte: H,
    pub(super) errors_return: H,
    /// A request before any call has written it.
    pub(super) no_request: H,
    pub(super) any_source: c_int,
    /// Place of MPI_SOURCE in a status, in numbers of 32 bits.
    pub(super) source_in_status: usize,
    /// The address that stands for a status that is not wanted.
    pub(super) status_ignored: usize,
}

/// An ABI with its constants.
pub(super) enum Abi {
    Mpich(Table<c_int>),
    OpenMpi(Table<Address>),
    Standard(Table<Address>),
}

/// The version as the library states it, which may be asked for before it is initialised.
pub(super) fn version(library: &Library) -> Result<String, MpiError> {
    type GetVersion = unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int;
    let ask: GetVersion = function(library, "MPI_Get_library_version")?;
    let (mut text, mut length) = (vec![0_u8; TEXT], 0);
    // SAFETY: the text has room for the longest one of all ABIs.
    let status = unsafe { ask(text.as_mut_ptr().cast(), &raw mut length) };
    call("MPI_Get_library_version", status, || String::from("it failed"))?;
    Ok(as_text(&text, length))
}

/// Bytes that MPI has written as a text.
pub(super) fn as_text(bytes: &[u8], length: c_int) -> String {
    let length = usize::try_from(length).unwrap_or(0).min(bytes.len());
    String::from_utf8_lossy(&bytes[..length]).trim_end_matches('\0').trim().to_owned()
}

/// The ABI of a library: by what it says of the standard one, by its name, and by the objects that Open MPI's has.
pub(super) fn abi(library: &Library, version: &str) -> Result<Abi, MpiError> {
    if has_standard_abi(library)? {
        return Ok(Abi::Standard(Table {
            world: number(0x101),
            byte: number(0x247),
            errors_return: number(0x143),
            no_request: number(0x180),
            any_source: -1,
            source_in_status: 0,
            status_ignored: 0,
        }));
    }
    if version.contains("Open MPI") {
        return Ok(Abi::OpenMpi(Table {
            world: object(library, "ompi_mpi_comm_world")?,
            byte: object(library, "ompi_mpi_byte")?,
            errors_return: object(library, "ompi_mpi_errors_return")?,
            no_request: object(library, "ompi_request_null")?,
            any_source: -1,
            source_in_status: 0,
            status_ignored: 0,
        }));
    }
    if MPICH_FAMILY.iter().any(|family| version.contains(family)) {
        return Ok(Abi::Mpich(Table {
            world: 0x4400_0000,
            byte: 0x4c00_010d,
            errors_return: 0x5400_0001,
            no_request: 0x2c00_0000,
            any_source: -2,
            source_in_status: 2,
            status_ignored: 1,
        }));
    }
    Err(MpiError::UnknownAbi(version.lines().next().unwrap_or_default().chars().take(80).collect()))
}

/// True if the library says that it has the standard ABI: MPICH 5 has this function in both of its libraries, and
/// answers -1 in the other one.
fn has_standard_abi(library: &Library) -> Result<bool, MpiError> {
    type GetAbi = unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;
    let Ok(ask) = function::<GetAbi>(library, "MPI_Abi_get_version") else { return Ok(false) };
    let (mut major, mut minor) = (-1, -1);
    // SAFETY: it writes two numbers.
    let status = unsafe { ask(&raw mut major, &raw mut minor) };
    call("MPI_Abi_get_version", status, || String::from("it failed"))?;
    Ok(major >= 1)
}

/// A number as a handle of the standard ABI.
fn number(value: usize) -> Address {
    std::ptr::without_provenance_mut(value)
}

/// The address of an object in the library.
fn object(library: &Library, name: &'static str) -> Result<Address, MpiError> {
    // SAFETY: only the address is used, which has any type.
    let symbol = unsafe { library.get::<Address>(name.as_bytes()) }.map_err(|error| MpiError::of(&error))?;
    Ok(symbol.as_raw_ptr())
}
