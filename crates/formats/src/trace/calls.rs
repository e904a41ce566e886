//! strace's text, made with `-ttt -T` and mostly `-f`: reads, writes and syncs of files.
//!
//! Files and positions are followed by their descriptors. What is read from a descriptor that the trace does not open
//! is an I/O only if the call names its offset: it may be a socket. Source: strace(1).

use super::lines::{decimal, whole, wrong};
use super::{Sink, Wrong};
use measure::Nanos;
use model::TraceIo;
use plan::Operation;
use std::collections::HashMap;

/// Threads and descriptors that are kept, at most.
const MOST_KEPT: usize = 1 << 16;

/// State of a reader.
#[derive(Default)]
pub(super) struct Calls {
    /// The process of a thread, where it is another number.
    process: HashMap<u32, u32>,
    /// By process and descriptor.
    open: HashMap<(u32, u64), Open>,
    /// Begins of calls whose ends are on other lines, with their moments.
    begun: HashMap<u32, (Nanos, Vec<u8>)>,
    first: Option<u32>,
}

/// An open file.
#[derive(Clone, Copy)]
struct Open {
    target: u32,
    /// Position, if known.
    position: Option<u64>,
}

/// A call that has ended.
struct Call<'line> {
    name: &'line [u8],
    arguments: &'line [u8],
    result: u64,
    /// The text between the result and the time.
    about: &'line [u8],
    thread: u32,
    begin: Nanos,
    time: Nanos,
}

impl Calls {
    /// Takes a line.
    pub(super) fn line(&mut self, line: &[u8], to: &mut Sink) -> Result<(), Wrong> {
        let line = line.trim_ascii();
        // strace says itself when it attaches to a process.
        if line.is_empty() || line.starts_with(b"strace: ") {
            return Ok(());
        }
        let (thread, rest) = thread_of(line)?;
        let (stamp, rest) = word(rest);
        let begin = decimal(stamp, 1_000_000_000).filter(|_| stamp.contains(&b'.')).map(Nanos);
        let begin =
            begin.ok_or_else(|| wrong(stamp, "is not a time like 1700000000.123456; trace with strace -ttt -T -f"))?;
        if rest.starts_with(b"+++") || rest.starts_with(b"---") {
            return Ok(());
        }
        if let Some(head) = rest.strip_suffix(b"<unfinished ...>") {
            if self.begun.len() < MOST_KEPT {
                self.begun.insert(thread, (begin, head.trim_ascii_end().to_vec()));
            }
            return Ok(());
        }
        let Some(resumed) = rest.strip_prefix(b"<... ") else { return self.ended(rest, thread, begin, to) };
        let (Some((begin, mut joined)), Some(at)) =
            (self.begun.remove(&thread), memchr::memmem::find(resumed, b"resumed>"))
        else {
            // Its begin was before the trace.
            return Ok(());
        };
        joined.extend_from_slice(&resumed[at + 8..]);
        self.ended(&joined, thread, begin, to)
    }

    /// Takes a call with its end.
    fn ended(&mut self, text: &[u8], thread: u32, begin: Nanos, to: &mut Sink) -> Result<(), Wrong> {
        let form = || wrong(text, "is not `CALL(ARGUMENTS) = RESULT <TIME>`; trace with strace -ttt -T -f");
        let name_ends = memchr::memchr(b'(', text).ok_or_else(form)?;
        let result_at = memchr::memmem::rfind(text, b") = ").or_else(|| equals_behind_blanks(text)).ok_or_else(form)?;
        let end = &text[result_at..];
        let end = &end[memchr::memmem::find(end, b"= ").ok_or_else(form)? + 2..];
        let digits = end.iter().take_while(|byte| byte.is_ascii_digit()).count();
        // Failed calls, and those that did not end.
        let Some(result) = whole(&end[..digits]) else { return Ok(()) };
        let time = end.strip_suffix(b">").and_then(|end| Some(&end[memchr::memrchr(b'<', end)? + 1..]));
        let time = time.and_then(|time| decimal(time, 1_000_000_000));
        let time = time.ok_or_else(|| wrong(end, "has no time behind the result; trace with strace -T"))?;
        let arguments = text.get(name_ends + 1..result_at).unwrap_or_default();
        let call = Call {
            name: &text[..name_ends],
            arguments,
            result,
            about: &end[digits..],
            thread,
            begin,
            time: Nanos(time),
        };
        self.call(&call, to)
    }

    fn call(&mut self, call: &Call<'_>, to: &mut Sink) -> Result<(), Wrong> {
        to.events += 1;
        let process = self.process_of(call.thread);
        let descriptor = whole(leading_digits(call.arguments));
        match call.name {
            b"open" | b"openat" | b"openat2" | b"creat" => {
                let path = path_of(call).ok_or_else(|| wrong(call.arguments, "has no path"))?;
                let is_appending = memchr::memmem::find(call.arguments, b"O_APPEND").is_some();
                let open = Open { target: to.target(path)?, position: (!is_appending).then_some(0) };
                self.keep(process, call.result, open);
            }
            b"close" => drop(descriptor.and_then(|descriptor| self.open.remove(&(process, descriptor)))),
            b"dup" | b"dup2" | b"dup3" => {
                if let Some(open) = descriptor.and_then(|descriptor| self.open.get(&(process, descriptor))).copied() {
                    self.keep(process, call.result, open);
                }
            }
            b"lseek" | b"_llseek" => {
                if let Some(open) = descriptor.and_then(|descriptor| self.open.get_mut(&(process, descriptor))) {
                    open.position = Some(call.result);
                }
            }
            b"clone" | b"clone3" | b"fork" | b"vfork" => self.started(process, call),
            _ => {
                if let (Some(kind), Some(descriptor)) = (kind(call.name), descriptor) {
                    return self.io(kind, [u64::from(process), descriptor], call, to);
                }
            }
        }
        Ok(())
    }

    /// A thread or process was started.
    fn started(&mut self, process: u32, call: &Call<'_>) {
        let Some(started) = u32::try_from(call.result).ok().filter(|_| self.process.len() < MOST_KEPT) else { return };
        if memchr::memmem::find(call.arguments, b"CLONE_FILES").is_some() {
            self.process.insert(started, process);
            return;
        }
        self.process.insert(started, started);
        let copied: Vec<_> =
            self.open.iter().filter(|((of, _), _)| *of == process).map(|(key, open)| (key.1, *open)).collect();
        copied.into_iter().for_each(|(descriptor, open)| self.keep(started, descriptor, open));
    }

    /// A thread whose start is not in the trace belongs to the first process.
    fn process_of(&mut self, thread: u32) -> u32 {
        let first = *self.first.get_or_insert(thread);
        self.process.get(&thread).copied().unwrap_or(first)
    }

    fn keep(&mut self, process: u32, descriptor: u64, open: Open) {
        if self.open.len() < MOST_KEPT {
            self.open.insert((process, descriptor), open);
        }
    }

    fn io(&mut self, kind: Kind, [process, descriptor]: [u64; 2], call: &Call<'_>, to: &mut Sink) -> Result<(), Wrong> {
        let key = (u32::try_from(process).unwrap_or_default(), descriptor);
        let of_path = decoration(&call.arguments[leading_digits(call.arguments).len()..]);
        let known = self.open.get(&key).copied();
        let open = match (known, of_path, kind.place) {
            (Some(open), ..) => open,
            (None, Some(path), _) => Open { target: to.target(path)?, position: None },
            (None, None, Place::AtPosition) => return Ok(()),
            (None, None, _) => Open { target: to.target(leading_digits(call.arguments))?, position: None },
        };
        let offset = match kind.place {
            Place::None => None,
            Place::AtPosition => open.position,
            Place::Argument(from_end) => {
                let argument =
                    call.arguments.rsplit(|byte| *byte == b',').nth(from_end).unwrap_or_default().trim_ascii();
                // preadv2 with offset -1 is at the position.
                let offset =
                    if argument == b"-1" { Ok(open.position) } else { whole(argument).map(Some).ok_or(argument) };
                offset.map_err(|argument| wrong(argument, "is not an offset"))?
            }
        };
        let is_sync = kind.place == Place::None;
        if kind.place == Place::AtPosition
            && let Some(open) = self.open.get_mut(&key)
        {
            open.position = open.position.map(|position| position.saturating_add(call.result));
        }
        let bytes = if is_sync { 0 } else { call.result };
        let (begin, latency, thread) = (call.begin, Some(call.time), Some(call.thread));
        let io = TraceIo { begin, operation: kind.operation, offset, bytes, target: open.target, latency, thread };
        to.order.extend(super::checked(io)?);
        Ok(())
    }
}

/// A call that reads, writes or syncs.
struct Kind {
    operation: Operation,
    place: Place,
}

/// Where a call reads or writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// It syncs.
    None,
    AtPosition,
    /// The offset is this argument, from the last one.
    Argument(usize),
}

fn kind(name: &[u8]) -> Option<Kind> {
    let (operation, place) = match name {
        b"read" | b"readv" => (Operation::Read, Place::AtPosition),
        b"write" | b"writev" => (Operation::Write, Place::AtPosition),
        b"pread64" | b"pread" | b"preadv" => (Operation::Read, Place::Argument(0)),
        b"pwrite64" | b"pwrite" | b"pwritev" => (Operation::Write, Place::Argument(0)),
        b"preadv2" => (Operation::Read, Place::Argument(1)),
        b"pwritev2" => (Operation::Write, Place::Argument(1)),
        b"fsync" | b"sync_file_range" | b"syncfs" => (Operation::Sync, Place::None),
        b"fdatasync" => (Operation::DataSync, Place::None),
        _ => return None,
    };
    Some(Kind { operation, place })
}

/// The number of the thread at the begin of a line, 0 without one: `[pid 4711] ` or `4711 `.
fn thread_of(line: &[u8]) -> Result<(u32, &[u8]), Wrong> {
    let (number, rest) = match line.strip_prefix(b"[pid") {
        Some(rest) => {
            let end =
                memchr::memchr(b']', rest).ok_or_else(|| wrong(line, "has no ] behind its number of a thread"))?;
            (rest[..end].trim_ascii(), rest[end + 1..].trim_ascii_start())
        }
        None => word(line),
    };
    if number.contains(&b'.') {
        return Ok((0, line));
    }
    Ok((super::columns::thread(number)?, rest))
}

fn word(text: &[u8]) -> (&[u8], &[u8]) {
    let end = memchr::memchr(b' ', text).unwrap_or(text.len());
    (&text[..end], text[end..].trim_ascii_start())
}

/// Place of `)   = `, which strace writes for short calls.
fn equals_behind_blanks(text: &[u8]) -> Option<usize> {
    let equals = memchr::memmem::rfind(text, b" = ")?;
    let end = text[..equals].trim_ascii_end();
    end.ends_with(b")").then(|| end.len() - 1)
}

fn leading_digits(text: &[u8]) -> &[u8] {
    &text[..text.iter().take_while(|byte| byte.is_ascii_digit()).count()]
}

/// The path of a descriptor that `-y` shows: `3</path>`.
fn decoration(text: &[u8]) -> Option<&[u8]> {
    let inner = text.strip_prefix(b"<")?;
    let path = &inner[..memchr::memchr(b'>', inner)?];
    path.starts_with(b"/").then_some(path)
}

/// The path of a file that was opened.
fn path_of<'line>(call: &Call<'line>) -> Option<&'line [u8]> {
    let quoted_path = || {
        let from = memchr::memchr(b'"', call.arguments)? + 1;
        let length = memchr::memchr(b'"', &call.arguments[from..])?;
        Some(&call.arguments[from..from + length])
    };
    decoration(call.about).or_else(quoted_path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_that_of_y_or_that_of_the_argument() {
        let call = |arguments, about| Call {
            name: b"openat",
            arguments,
            result: 3,
            about,
            thread: 1,
            begin: Nanos::ZERO,
            time: Nanos::ZERO,
        };
        assert_eq!(path_of(&call(b"AT_FDCWD, \"a\", O_RDONLY", b"</x/a> <0.1>")), Some(b"/x/a".as_slice()));
        assert_eq!(path_of(&call(b"AT_FDCWD, \"a\", O_RDONLY", b" <0.1>")), Some(b"a".as_slice()));
        assert_eq!(path_of(&call(b"AT_FDCWD, NULL", b" <0.1>")), None);
    }
}
