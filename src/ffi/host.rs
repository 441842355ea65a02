//! The host's world, kept while the library works: `errno`, the floating-point environment, whether the thread may be cancelled, and
//! silence about panics.

use crate::fork::{ForkReset, Lazy};
use crate::platform::{errno, hold_cancel, set_cancel};
use std::cell::Cell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, PoisonError};

thread_local! {
    /// The guarded calls that this thread is in.
    static CALLS: GuardedCalls = const { GuardedCalls { in_turn: Cell::new(false), depth: Cell::new(0), world: Cell::new(None) } };
    /// Where this thread panicked last: a source file (its end, if it is long) and a line. No destructor, no
    /// allocation.
    static PLACE: Cell<([u8; 64], u32)> = const { Cell::new(([0; 64], 0)) };
}

/// What a thread knows of its guarded calls: one variable, as its address is asked for at every call.
struct GuardedCalls {
    /// Whether it runs a callback that no other may run beside.
    in_turn: Cell<bool>,
    /// How many it is in (a callback of the host may call the library again).
    depth: Cell<u32>,
    /// What the innermost one saved.
    world: Cell<Option<World>>,
}

/// What the host wants back in its function. Never looked at here.
pub(super) struct HostPointer(pub *mut c_void);

// SAFETY: it is only handed through; in which threads the host uses it is up to the host.
unsafe impl Send for HostPointer {}
// SAFETY: as above.
unsafe impl Sync for HostPointer {}

/// What is the host's own.
#[derive(Clone, Copy)]
struct World {
    errno: i32,
    float: float::Environment,
}

impl World {
    /// Saves it and sets the default one.
    #[inline(always)]
    fn leave() -> World {
        // SAFETY: errno's address is valid in every thread.
        let errno = unsafe { *errno() };
        World { errno, float: float::Environment::swap_default() }
    }

    /// Puts it back.
    #[inline(always)]
    fn enter(&self) {
        self.float.restore();
        // SAFETY: as above.
        unsafe { *errno() = self.errno };
    }
}

/// A guarded call; dropping it puts back what was saved of the host.
pub(super) struct Host {
    /// What was saved by the call around this one, if this one comes from a callback.
    outer: Option<World>,
    /// Whether it comes from a callback whose turn it was: others may have theirs meanwhile.
    turn: bool,
    /// Whether its thread could be cancelled before. It cannot be in callbacks either: they are called by frames that cannot be unwound.
    cancel: i32,
}

impl Host {
    /// Saves the host's environment and sets the default one, for the exported function `name`.
    #[inline(always)]
    pub(super) fn leave(name: &str) -> Host {
        let cancel = hold_cancel();
        silence_panics();
        CALLS.with(|calls| {
            let turn = calls.in_turn.get() && !keeps_turn(name);
            if turn {
                calls.in_turn.set(false);
                Turns::of_process().give_back();
            }
            calls.depth.set(calls.depth.get() + 1);
            Host { outer: calls.world.replace(Some(World::leave())), turn, cancel }
        })
    }
}

/// Whether a callback that calls that function keeps its turn: it waits for nothing, and is called while the callback holds what is its own.
fn keeps_turn(name: &str) -> bool {
    KEEP_TURN.contains(&name.strip_prefix("ozarr_").unwrap_or(name))
}

/// The functions of [`keeps_turn`], by their names behind `ozarr_`.
const KEEP_TURN: [&str; 12] = [
    "answer_put",
    "answer_room",
    "answer_size",
    "answer_version",
    "buffer_alloc",
    "buffer_free",
    "keys_add",
    "last_error",
    "last_error_in",
    "last_error_info",
    "set_error",
    "status_name",
];

/// Whose turn it is among the callbacks that may not run beside each other.
#[derive(Default)]
struct Turns {
    taken: Mutex<bool>,
    free: Condvar,
}

impl Turns {
    fn of_process() -> &'static Turns {
        static TURNS: Lazy<ForkReset<Turns>> = Lazy::new(|| ForkReset::new(Turns::default));
        TURNS.get().get()
    }

    fn take(&self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        while *taken {
            taken = self.free.wait(taken).unwrap_or_else(PoisonError::into_inner);
        }
        *taken = true;
    }

    fn give_back(&self) {
        *self.taken.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.free.notify_one();
    }
}

/// As [`call_back`], while no other such callback runs in the process. A callback that calls the library lets others have their turn
/// until that call returns, so that none waits for what another holds; not where that call waits for nothing.
pub(super) fn call_back_in_turn<T>(f: impl FnOnce() -> T) -> T {
    struct Mine;
    impl Drop for Mine {
        fn drop(&mut self) {
            CALLS.with(|calls| calls.in_turn.set(false));
            Turns::of_process().give_back();
        }
    }
    Turns::of_process().take();
    let _mine = Mine;
    CALLS.with(|calls| calls.in_turn.set(true));
    call_back(f)
}

/// Calls the host's code from within a guarded call: in the host's own world, which it may change.
pub(super) fn call_back<T>(f: impl FnOnce() -> T) -> T {
    let Some(world) = CALLS.with(|calls| calls.world.get()) else { return f() };
    world.enter();
    let result = f();
    CALLS.with(|calls| calls.world.set(Some(World::leave())));
    result
}

impl Drop for Host {
    #[inline(always)]
    fn drop(&mut self) {
        CALLS.with(|calls| {
            if self.turn {
                Turns::of_process().take();
                calls.in_turn.set(true);
            }
            if let Some(world) = calls.world.replace(self.outer) {
                world.enter();
            }
            calls.depth.set(calls.depth.get() - 1);
        });
        set_cancel(self.cancel);
    }
}

/// A panic is reported by its status, not on stderr: the hook says nothing in a guarded call and in the
/// library's own threads (`ozarr…`), and is the former one elsewhere.
fn silence_panics() {
    // No thread waits for another here: a child of `fork` would for ever.
    static HOOKED: AtomicBool = AtomicBool::new(false);
    if HOOKED.load(Relaxed) || HOOKED.swap(true, Relaxed) {
        return;
    }
    let former = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if CALLS.with(|calls| calls.depth.get()) == 0 && !crate::threads::is_own() {
            former(info);
        } else if let Some(place) = info.location() {
            let file = place.file().as_bytes();
            let end = &file[file.len().saturating_sub(64)..];
            let mut kept = [0; 64];
            kept[..end.len()].copy_from_slice(end);
            PLACE.set((kept, place.line()));
        }
    }));
}

/// The file and line of this thread's last panic in a guarded call.
pub(super) fn panic_place() -> String {
    let (file, line) = PLACE.get();
    let file = file.split(|&b| b == 0).next().unwrap_or_default();
    format!("{}:{line}", String::from_utf8_lossy(file))
}

/// The control and status word of SSE: traps, rounding, flush-to-zero, denormals-are-zero, sticky flags.
#[cfg(target_arch = "x86_64")]
mod float {
    use std::arch::asm;

    const DEFAULT: u32 = 0x1f80;

    #[derive(Clone, Copy)]
    pub(super) struct Environment(u32);

    impl Environment {
        pub(super) fn swap_default() -> Environment {
            let saved = get();
            if saved != DEFAULT {
                set(DEFAULT);
            }
            Environment(saved)
        }

        pub(super) fn restore(&self) {
            if get() != self.0 {
                set(self.0);
            }
        }
    }

    pub(super) fn get() -> u32 {
        let mut word = 0u32;
        // SAFETY: stores four bytes to `word`.
        unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut word, options(nostack, preserves_flags)) };
        word
    }

    pub(super) fn set(word: u32) {
        // SAFETY: loads the default, a word that was in force before, or (in tests) a valid one.
        unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const word, options(nostack, preserves_flags)) };
    }
}

/// The control and status registers: traps, rounding, flush-to-zero; sticky flags.
#[cfg(target_arch = "aarch64")]
mod float {
    use std::arch::asm;

    #[derive(Clone, Copy)]
    pub(super) struct Environment(u64, u64);

    impl Environment {
        pub(super) fn swap_default() -> Environment {
            let saved = get();
            set((0, 0));
            Environment(saved.0, saved.1)
        }

        pub(super) fn restore(&self) {
            set((self.0, self.1));
        }
    }

    pub(super) fn get() -> (u64, u64) {
        let (control, status): (u64, u64);
        // SAFETY: reads two registers.
        unsafe { asm!("mrs {}, fpcr", "mrs {}, fpsr", out(reg) control, out(reg) status, options(nostack)) };
        (control, status)
    }

    pub(super) fn set((control, status): (u64, u64)) {
        // SAFETY: writes the default or values that were in force before.
        unsafe { asm!("msr fpcr, {}", "msr fpsr, {}", in(reg) control, in(reg) status, options(nostack)) };
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn callbacks_take_turns_and_let_others_have_theirs_while_they_call_the_library() {
        use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
        let (running, inside) = (AtomicU32::new(0), std::sync::Barrier::new(2));
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let _host = Host::leave("ozarr_test");
                    for _ in 0..200 {
                        call_back_in_turn(|| {
                            assert_eq!(running.fetch_add(1, SeqCst), 0);
                            std::thread::yield_now();
                            running.fetch_sub(1, SeqCst);
                        });
                    }
                    call_back_in_turn(|| {
                        let _again = Host::leave("ozarr_test");
                        // Both are here at once, or nobody goes on.
                        inside.wait();
                    });
                });
            }
        });
    }

    #[test]
    fn a_callback_that_gives_its_answer_keeps_its_turn() {
        use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
        let running = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for name in KEEP_TURN.iter().chain(&["answer_put"]) {
                let running = &running;
                scope.spawn(move || {
                    let _host = Host::leave("ozarr_test");
                    for _ in 0..200 {
                        call_back_in_turn(|| {
                            assert_eq!(running.fetch_add(1, SeqCst), 0, "{name}");
                            drop(Host::leave(&format!("ozarr_{name}")));
                            std::thread::yield_now();
                            assert_eq!(running.fetch_sub(1, SeqCst), 1, "{name}");
                        });
                    }
                });
            }
        });
    }

    #[test]
    fn errno_and_the_floating_point_environment_come_back() {
        let errno = || {
            // SAFETY: errno's address is valid in every thread.
            unsafe { &mut *errno() }
        };
        let host_word = 0x1f80 & !(1 << 9) | 0x8040; // division by zero traps; flush to zero, denormals are zero
        let kept = float::get();
        float::set(host_word);
        *errno() = 42;
        let inside = {
            let _host = Host::leave("ozarr_test");
            *errno() = 7;
            let word = float::get();
            float::set(0x1f80 | 0x20); // a sticky flag that the library raises
            word
        };
        let after = (float::get(), *errno());
        let called = {
            let _host = Host::leave("ozarr_test");
            (call_back(float::get), float::get())
        };
        float::set(kept);
        assert_eq!(called, (host_word, 0x1f80));
        assert_eq!(inside, 0x1f80);
        assert_eq!(after, (host_word, 42));
    }

    #[test]
    fn threads_are_not_cancelled_in_calls_and_callbacks() {
        let now = || {
            let state = hold_cancel();
            set_cancel(state);
            state
        };
        let host = now();
        let (called, inside) = {
            let _host = Host::leave("ozarr_test");
            let called = call_back(|| {
                drop(Host::leave("ozarr_test"));
                now()
            });
            (called, now())
        };
        assert_eq!((called, inside), (1, 1));
        assert_eq!((host, now()), (0, 0));
    }

    #[test]
    fn callbacks_run_in_the_hosts_world() {
        // SAFETY: errno's address is valid in every thread.
        let errno = || unsafe { &mut *errno() };
        let host_word = 0x1f80 & !(1 << 9) | 0x8040;
        let kept = float::get();
        float::set(host_word);
        *errno() = 42;
        let (seen, inner, inside) = {
            let _host = Host::leave("ozarr_test");
            *errno() = 7;
            let (seen, inner) = call_back(|| {
                let seen = (float::get(), *errno());
                *errno() = 43;
                let _again = Host::leave("ozarr_test");
                (seen, float::get())
            });
            (seen, inner, float::get())
        };
        let after = (float::get(), *errno());
        float::set(kept);
        assert_eq!((seen, inner, inside, after), ((host_word, 42), 0x1f80, 0x1f80, (host_word, 43)));
    }
}
