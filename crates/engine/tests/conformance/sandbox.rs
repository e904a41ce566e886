//! A thread whose system calls are watched, refused, or answered as an older kernel does, by a seccomp filter.

use libc::{BPF_ABS, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, c_long, sock_filter, sock_fprog};
use std::cell::Cell;
use std::sync::Mutex;

/// One system call that was watched: its number, its second and third argument, and what it returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) number: c_long,
    pub(crate) second: i64,
    pub(crate) third: i64,
    pub(crate) returned: i64,
}

/// Where a call is marked with it: let it through.
const PASS: u32 = 0x706c_7562;

/// The place of the mark in struct seccomp_data: a part of the arguments that the kernel does not look at. That is the
/// sixth argument, but of io_uring_enter(2) the upper half of the fourth, which are flags of 32 bits.
fn place_of_mark(number: c_long) -> u32 {
    if number == libc::SYS_io_uring_enter { 44 } else { 56 }
}

/// Calls seen by all watched threads, with the thread that made them.
static SEEN: Mutex<Vec<(libc::pthread_t, Call)>> = Mutex::new(Vec::new());

/// Runs `work` in a thread in which `calls` fail with their errno.
pub(crate) fn forbidding<T: Send>(calls: &[(c_long, i32)], work: impl FnOnce() -> T + Send) -> T {
    let rules = calls.iter().map(|&(number, errno)| (number, libc::SECCOMP_RET_ERRNO | errno.cast_unsigned()));
    filtered(rules.collect(), work)
}

/// Runs `work` in a thread whose `calls` are written down.
pub(crate) fn watching<T: Send>(calls: &[c_long], work: impl FnOnce() -> T + Send) -> (T, Vec<Call>) {
    trap_system_calls();
    let rules = calls.iter().map(|&number| (number, libc::SECCOMP_RET_TRAP)).collect();
    filtered(rules, || {
        let result = work();
        // SAFETY: pthread_self(3) has no conditions.
        let me = unsafe { libc::pthread_self() };
        let mut seen = SEEN.lock().unwrap();
        let mine = seen.iter().filter(|(thread, _)| *thread == me).map(|(_, call)| *call).collect();
        seen.retain(|(thread, _)| *thread != me);
        (result, mine)
    })
}

/// What an older kernel does not know of rings: bits of linux/io_uring.h, and numbers of what can be registered.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lacks {
    pub(crate) setup_flags: u32,
    pub(crate) features: u32,
    pub(crate) registrations: &'static [i64],
}

thread_local! {
    /// What this thread's kernel lacks.
    static LACKS: Cell<Lacks> = const { Cell::new(Lacks { setup_flags: 0, features: 0, registrations: &[] }) };
}

/// Runs `work` in a thread whose kernel is older.
pub(crate) fn on_older_kernel<T: Send>(lacks: Lacks, work: impl FnOnce() -> T + Send) -> T {
    trap_system_calls();
    let calls = [libc::SYS_io_uring_setup, libc::SYS_io_uring_register];
    let rules = calls.map(|number| (number, libc::SECCOMP_RET_TRAP)).into();
    filtered(rules, || {
        LACKS.set(lacks);
        work()
    })
}

/// True if the older kernel of this thread answers a call with EINVAL.
fn is_unknown(number: c_long, second: i64) -> bool {
    let lacks = LACKS.get();
    match number {
        // SAFETY: io_uring_setup(2) has its parameters in its second argument, and the caller's are valid.
        libc::SYS_io_uring_setup => unsafe { *parameters(second).add(2) & lacks.setup_flags != 0 },
        libc::SYS_io_uring_register => lacks.registrations.contains(&second),
        _ => false,
    }
}

/// `struct io_uring_params` as numbers of 32 bits: the third has the flags, the sixth the features.
fn parameters(argument: i64) -> *mut u32 {
    std::ptr::with_exposed_provenance_mut(usize::try_from(argument).unwrap())
}

fn filtered<T: Send>(rules: Vec<(c_long, u32)>, work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let worker = scope.spawn(move || {
            install(&rules);
            work()
        });
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Installs a filter in this thread: each call has its verdict unless it carries [`PASS`]; all others are allowed.
fn install(rules: &[(c_long, u32)]) {
    // struct seccomp_data has the number at 0.
    let load = |offset| statement(BPF_LD | BPF_W | BPF_ABS, 0, 0, offset);
    let answer = |verdict| statement(BPF_RET | BPF_K, 0, 0, verdict);
    let mut program = Vec::new();
    for &(number, verdict) in rules {
        program.push(load(0));
        program.push(statement(BPF_JMP | BPF_JEQ | BPF_K, 0, 3, u32::try_from(number).unwrap()));
        program.push(load(place_of_mark(number)));
        program.push(statement(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, PASS));
        program.push(answer(verdict));
    }
    program.push(answer(libc::SECCOMP_RET_ALLOW));
    let filter = sock_fprog { len: u16::try_from(program.len()).unwrap(), filter: program.as_mut_ptr() };
    // SAFETY: takes no memory.
    assert_eq!(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }, 0);
    // SAFETY: the kernel copies the program, which outlives the call.
    let installed = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const filter) };
    assert_eq!(installed, 0, "{}", std::io::Error::last_os_error());
}

fn statement(code: u32, when: u8, otherwise: u8, value: u32) -> sock_filter {
    sock_filter { code: u16::try_from(code).unwrap(), jt: when, jf: otherwise, k: value }
}

/// Makes SIGSYS write the call down and carry it out.
fn trap_system_calls() {
    // SAFETY: sigaction is a C structure for which zeros are valid: no flags, an empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_flags = libc::SA_SIGINFO;
    action.sa_sigaction = trapped as *const () as usize;
    // SAFETY: `action` outlives the call, and the handler has the signature that SA_SIGINFO asks for.
    assert_eq!(unsafe { libc::sigaction(libc::SIGSYS, &raw const action, std::ptr::null_mut()) }, 0);
}

/// The handler runs in the middle of the engine's own call and nowhere else, so it may lock and allocate.
extern "C" fn trapped(_signal: i32, _info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel gives a SA_SIGINFO handler its ucontext, for as long as the handler runs.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext };
    let (number, [first, second, third, mut fourth, fifth, mut sixth]) = call_in(registers);
    if is_unknown(number, second) {
        return answer(registers, -i64::from(libc::EINVAL));
    }
    if number == libc::SYS_io_uring_enter {
        fourth |= i64::from(PASS) << 32;
    } else {
        sixth = i64::from(PASS);
    }
    // SAFETY: the very call that the engine made, with its promises; the mark is not looked at.
    let returned = unsafe { libc::syscall(number, first, second, third, fourth, fifth, sixth) };
    let returned =
        if returned == -1 { -i64::from(std::io::Error::last_os_error().raw_os_error().unwrap()) } else { returned };
    answer(registers, returned);
    if number == libc::SYS_io_uring_setup && returned >= 0 {
        // SAFETY: the kernel has just filled in the parameters.
        unsafe { *parameters(second).add(5) &= !LACKS.get().features };
    }
    // SAFETY: pthread_self(3) has no conditions.
    let me = unsafe { libc::pthread_self() };
    SEEN.lock().unwrap().push((me, Call { number, second, third, returned }));
}

#[cfg(target_arch = "x86_64")]
fn call_in(registers: &libc::mcontext_t) -> (c_long, [i64; 6]) {
    let at = |register: i32| registers.gregs[usize::try_from(register).unwrap()];
    (
        at(libc::REG_RAX),
        [libc::REG_RDI, libc::REG_RSI, libc::REG_RDX, libc::REG_R10, libc::REG_R8, libc::REG_R9].map(at),
    )
}

#[cfg(target_arch = "x86_64")]
fn answer(registers: &mut libc::mcontext_t, returned: i64) {
    registers.gregs[usize::try_from(libc::REG_RAX).unwrap()] = returned;
}

#[cfg(target_arch = "aarch64")]
fn call_in(registers: &libc::mcontext_t) -> (c_long, [i64; 6]) {
    let at = |register: usize| registers.regs[register].cast_signed();
    (at(8), [0, 1, 2, 3, 4, 5].map(at))
}

#[cfg(target_arch = "aarch64")]
fn answer(registers: &mut libc::mcontext_t, returned: i64) {
    registers.regs[0] = returned.cast_unsigned();
}
