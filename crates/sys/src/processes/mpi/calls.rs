//! The functions of a loaded library, typed by the width of its handles.

use super::tables::{TEXT, Table, as_text};
use super::{MpiError, TAG};
use libloading::os::unix::Library;
use std::ffi::{c_char, c_int, c_void};
use std::ptr::null_mut;

/// Calls of an MPI of any ABI. Requests are numbers that [`Calls::is_complete`] takes.
pub(super) trait Calls {
    fn initialise(&mut self) -> Result<(), MpiError>;
    fn rank(&mut self) -> Result<u32, MpiError>;
    fn size(&mut self) -> Result<u32, MpiError>;
    /// Begins to send. The bytes stay where they are until it is complete.
    fn send(&mut self, bytes: &[u8], to: u32) -> Result<u64, MpiError>;
    /// Sender and length of the next message.
    fn probe(&mut self) -> Result<Option<(u32, usize)>, MpiError>;
    /// Begins to receive the message that was probed. The bytes stay where they are until it is complete.
    fn receive(&mut self, bytes: &mut [u8], from: u32) -> Result<u64, MpiError>;
    fn is_complete(&mut self, request: u64) -> Result<bool, MpiError>;
    fn barrier(&mut self) -> Result<u64, MpiError>;
    fn finalise(&mut self) -> Result<(), MpiError>;
    fn abort(&mut self, status: i32);
}

/// A status of any ABI: the longest one has 32 bytes.
#[repr(C, align(16))]
struct Status([c_int; 16]);

type OnCommunicator<H> = unsafe extern "C" fn(H, *mut c_int) -> c_int;
type Move<H, P> = unsafe extern "C" fn(P, c_int, H, c_int, c_int, H, *mut H) -> c_int;

/// The functions, with the constants of their ABI.
pub(super) struct Bound<H> {
    table: Table<H>,
    init: unsafe extern "C" fn(*mut c_int, *mut *mut *mut c_char) -> c_int,
    set_errhandler: unsafe extern "C" fn(H, H) -> c_int,
    comm_rank: OnCommunicator<H>,
    comm_size: OnCommunicator<H>,
    isend: Move<H, *const c_void>,
    irecv: Move<H, *mut c_void>,
    iprobe: unsafe extern "C" fn(c_int, c_int, H, *mut c_int, *mut Status) -> c_int,
    get_count: unsafe extern "C" fn(*const Status, H, *mut c_int) -> c_int,
    test: unsafe extern "C" fn(*mut H, *mut c_int, *mut Status) -> c_int,
    ibarrier: unsafe extern "C" fn(H, *mut H) -> c_int,
    error_string: unsafe extern "C" fn(c_int, *mut c_char, *mut c_int) -> c_int,
    finalize: unsafe extern "C" fn() -> c_int,
    abort: unsafe extern "C" fn(H, c_int) -> c_int,
    /// Requests in flight; a free place is `None`.
    requests: Vec<Option<H>>,
    /// The functions are in it.
    _library: Library,
}

/// A function of the library.
pub(super) fn function<F: Copy>(library: &Library, name: &'static str) -> Result<F, MpiError> {
    // SAFETY: the types of MPI's functions are those of the standard; the width of handles is that of the table.
    let symbol = unsafe { library.get::<F>(name.as_bytes()) }.map_err(|error| MpiError::of(&error))?;
    Ok(*symbol)
}

/// An error if a call returned one.
pub(super) fn call(name: &'static str, status: c_int, why: impl FnOnce() -> String) -> Result<(), MpiError> {
    if status == 0 { Ok(()) } else { Err(MpiError::Call { call: name, why: why() }) }
}

impl<H: Copy> Bound<H> {
    pub(super) fn new(library: Library, table: Table<H>) -> Result<Self, MpiError> {
        Ok(Bound {
            table,
            init: function(&library, "MPI_Init")?,
            set_errhandler: function(&library, "MPI_Comm_set_errhandler")?,
            comm_rank: function(&library, "MPI_Comm_rank")?,
            comm_size: function(&library, "MPI_Comm_size")?,
            isend: function(&library, "MPI_Isend")?,
            irecv: function(&library, "MPI_Irecv")?,
            iprobe: function(&library, "MPI_Iprobe")?,
            get_count: function(&library, "MPI_Get_count")?,
            test: function(&library, "MPI_Test")?,
            ibarrier: function(&library, "MPI_Ibarrier")?,
            error_string: function(&library, "MPI_Error_string")?,
            finalize: function(&library, "MPI_Finalize")?,
            abort: function(&library, "MPI_Abort")?,
            requests: Vec::new(),
            _library: library,
        })
    }

    fn checked(&self, name: &'static str, status: c_int) -> Result<(), MpiError> {
        call(name, status, || {
            let (mut text, mut length) = (vec![0_u8; TEXT], 0);
            // SAFETY: the text has room for the longest one of all ABIs.
            let found = unsafe { (self.error_string)(status, text.as_mut_ptr().cast(), &raw mut length) };
            if found == 0 { as_text(&text, length) } else { format!("error {status}") }
        })
    }

    fn asked(&self, name: &'static str, ask: OnCommunicator<H>) -> Result<u32, MpiError> {
        let mut answer = 0;
        // SAFETY: the communicator of all processes exists from the initialisation on; one number is written.
        let status = unsafe { ask(self.table.world, &raw mut answer) };
        self.checked(name, status)?;
        u32::try_from(answer).map_err(|_| MpiError::Call { call: name, why: format!("it returned {answer}") })
    }

    fn keep(&mut self, request: H) -> u64 {
        let place = self.requests.iter().position(Option::is_none).unwrap_or(self.requests.len());
        if place == self.requests.len() {
            self.requests.push(None);
        }
        self.requests[place] = Some(request);
        place as u64
    }

    fn status_ignored(&self) -> *mut Status {
        std::ptr::without_provenance_mut(self.table.status_ignored)
    }
}

fn number(value: u32) -> Result<c_int, MpiError> {
    c_int::try_from(value).map_err(|_| MpiError::TooLong(value as usize))
}

fn length(bytes: &[u8]) -> Result<c_int, MpiError> {
    c_int::try_from(bytes.len()).map_err(|_| MpiError::TooLong(bytes.len()))
}

impl<H: Copy> Calls for Bound<H> {
    fn initialise(&mut self) -> Result<(), MpiError> {
        // SAFETY: MPI allows to leave out the arguments of the program.
        let status = unsafe { (self.init)(null_mut(), null_mut()) };
        self.checked("MPI_Init", status)?;
        // SAFETY: both handles are constants of this ABI. Errors are returned from here on.
        let status = unsafe { (self.set_errhandler)(self.table.world, self.table.errors_return) };
        self.checked("MPI_Comm_set_errhandler", status)
    }

    fn rank(&mut self) -> Result<u32, MpiError> {
        self.asked("MPI_Comm_rank", self.comm_rank)
    }

    fn size(&mut self) -> Result<u32, MpiError> {
        self.asked("MPI_Comm_size", self.comm_size)
    }

    fn send(&mut self, bytes: &[u8], to: u32) -> Result<u64, MpiError> {
        let Table { world, byte, no_request, .. } = self.table;
        let (count, to) = (length(bytes)?, number(to)?);
        let mut request = no_request;
        // SAFETY: the caller keeps the bytes in place until the request is complete.
        let status = unsafe { (self.isend)(bytes.as_ptr().cast(), count, byte, to, TAG, world, &raw mut request) };
        self.checked("MPI_Isend", status)?;
        Ok(self.keep(request))
    }

    fn probe(&mut self) -> Result<Option<(u32, usize)>, MpiError> {
        let Table { world, byte, any_source, source_in_status, .. } = self.table;
        let (mut is_there, mut status, mut count) = (0, Status([0; 16]), 0);
        // SAFETY: the status has room for that of each ABI.
        let result = unsafe { (self.iprobe)(any_source, TAG, world, &raw mut is_there, &raw mut status) };
        self.checked("MPI_Iprobe", result)?;
        if is_there == 0 {
            return Ok(None);
        }
        // SAFETY: the call before has written the status.
        let result = unsafe { (self.get_count)(&raw const status, byte, &raw mut count) };
        self.checked("MPI_Get_count", result)?;
        let wrong = || MpiError::Call { call: "MPI_Iprobe", why: "a sender or length that is negative".to_owned() };
        let from = u32::try_from(status.0[source_in_status]).map_err(|_| wrong())?;
        Ok(Some((from, usize::try_from(count).map_err(|_| wrong())?)))
    }

    fn receive(&mut self, bytes: &mut [u8], from: u32) -> Result<u64, MpiError> {
        let Table { world, byte, no_request, .. } = self.table;
        let (count, from) = (length(bytes)?, number(from)?);
        let mut request = no_request;
        // SAFETY: the caller keeps the bytes in place until the request is complete.
        let status =
            unsafe { (self.irecv)(bytes.as_mut_ptr().cast(), count, byte, from, TAG, world, &raw mut request) };
        self.checked("MPI_Irecv", status)?;
        Ok(self.keep(request))
    }

    fn is_complete(&mut self, request: u64) -> Result<bool, MpiError> {
        let place = usize::try_from(request).unwrap_or(usize::MAX);
        let Some(Some(mut handle)) = self.requests.get(place).copied() else { return Ok(true) };
        let mut is_complete = 0;
        // SAFETY: the request was written by a call of MPI, and is not complete yet.
        let status = unsafe { (self.test)(&raw mut handle, &raw mut is_complete, self.status_ignored()) };
        self.requests[place] = (is_complete == 0).then_some(handle);
        self.checked("MPI_Test", status)?;
        Ok(is_complete != 0)
    }

    fn barrier(&mut self) -> Result<u64, MpiError> {
        let mut request = self.table.no_request;
        // SAFETY: the communicator of all processes; one request is written.
        let status = unsafe { (self.ibarrier)(self.table.world, &raw mut request) };
        self.checked("MPI_Ibarrier", status)?;
        Ok(self.keep(request))
    }

    fn finalise(&mut self) -> Result<(), MpiError> {
        // SAFETY: no call of MPI follows.
        let status = unsafe { (self.finalize)() };
        self.checked("MPI_Finalize", status)
    }

    fn abort(&mut self, status: i32) {
        // SAFETY: no call of MPI follows.
        unsafe { (self.abort)(self.table.world, status) };
    }
}
