//! The face towards CPython: an extension module with one function, on the limited API.
#![expect(
    unsafe_code,
    reason = "the C API of CPython and libc's fork, which keeps libc consistent"
)]

use core::ffi::{c_char, c_int, c_void};

use crate::serve::{self, Begun, Memory, Served};

/// `METH_VARARGS` of methodobject.h.
const METH_VARARGS: c_int = 1;
/// `PYTHON_ABI_VERSION` of modsupport.h for the limited API.
const PYTHON_ABI_VERSION: c_int = 3;

#[repr(C)]
struct PyObject {
    _opaque: [usize; 2],
}

type Method = unsafe extern "C" fn(*mut PyObject, *mut PyObject) -> *mut PyObject;

#[repr(C)]
struct MethodDef {
    name: *const c_char,
    method: Option<Method>,
    flags: c_int,
    doc: *const c_char,
}

#[repr(C)]
struct ModuleDef {
    references: isize,
    kind: *mut c_void,
    init: *mut c_void,
    index: isize,
    copy: *mut c_void,
    name: *const c_char,
    doc: *const c_char,
    size: isize,
    methods: *mut MethodDef,
    slots: *mut c_void,
    traverse: *mut c_void,
    clear: *mut c_void,
    free: *mut c_void,
}

// SAFETY: signatures as in CPython's limited API since 3.2 (the fork hooks: 3.7), and POSIX's fork.
unsafe extern "C" {
    fn PyModule_Create2(definition: *mut ModuleDef, version: c_int) -> *mut PyObject;
    fn PyArg_ParseTuple(args: *mut PyObject, format: *const c_char, ...) -> c_int;
    fn PyBytes_AsStringAndSize(
        object: *mut PyObject,
        bytes: *mut *mut c_char,
        length: *mut isize,
    ) -> c_int;
    fn Py_BuildValue(format: *const c_char, ...) -> *mut PyObject;
    fn PyErr_SetFromErrno(kind: *mut PyObject) -> *mut PyObject;
    static PyExc_OSError: *mut PyObject;
    fn PyOS_BeforeFork();
    fn PyOS_AfterFork_Parent();
    fn PyOS_AfterFork_Child();
    fn __errno_location() -> *mut c_int;
    #[link_name = "fork"]
    fn libc_fork() -> c_int;
}

struct Table<T>(core::cell::UnsafeCell<T>);

// SAFETY: CPython touches the tables with its global lock held.
unsafe impl<T> Sync for Table<T> {}

static METHODS: Table<[MethodDef; 2]> = Table(core::cell::UnsafeCell::new([
    MethodDef {
        name: c"serve".as_ptr(),
        method: Some(serve_method),
        flags: METH_VARARGS,
        doc: c"serve(socket, filter) -> tuple[int, int, int] | None: fork sessions until the host is gone (None). \
             In each session, return its control descriptor, its number and the slot of its tools tree. \
             When the host has filled a slot, return -1, 0 and the slot."
            .as_ptr(),
    },
    MethodDef {
        name: core::ptr::null(),
        method: None,
        flags: 0,
        doc: core::ptr::null(),
    },
]));

static MODULE: Table<ModuleDef> = Table(core::cell::UnsafeCell::new(ModuleDef {
    references: 1,
    kind: core::ptr::null_mut(),
    init: core::ptr::null_mut(),
    index: 0,
    copy: core::ptr::null_mut(),
    name: c"_codehatch_session".as_ptr(),
    doc: core::ptr::null(),
    size: -1,
    methods: METHODS.0.get().cast(),
    slots: core::ptr::null_mut(),
    traverse: core::ptr::null_mut(),
    clear: core::ptr::null_mut(),
    free: core::ptr::null_mut(),
}));

static MEMORY: Table<Memory> = Table(core::cell::UnsafeCell::new(Memory::new()));

/// Called by CPython's import machinery.
#[unsafe(no_mangle)]
pub extern "C" fn PyInit__codehatch_session() -> *mut c_void {
    // SAFETY: the definition is static, and the import machinery holds the global lock.
    unsafe { PyModule_Create2(MODULE.0.get(), PYTHON_ABI_VERSION) }.cast()
}

unsafe extern "C" fn serve_method(_module: *mut PyObject, args: *mut PyObject) -> *mut PyObject {
    let mut socket: c_int = -1;
    let mut object = core::ptr::null_mut::<PyObject>();
    // SAFETY: the format takes an int and a bytes object, and both are given room.
    let parsed =
        unsafe { PyArg_ParseTuple(args, c"iS:serve".as_ptr(), &raw mut socket, &raw mut object) };
    if parsed == 0 {
        return core::ptr::null_mut();
    }
    let mut bytes = core::ptr::null_mut();
    let mut length = 0;
    // SAFETY: `object` is a bytes object, which the caller's tuple keeps alive.
    if unsafe { PyBytes_AsStringAndSize(object, &raw mut bytes, &raw mut length) } != 0 {
        return core::ptr::null_mut();
    }
    // SAFETY: CPython vouches for the buffer and its length, which is not negative.
    let program =
        unsafe { core::slice::from_raw_parts(bytes.cast::<u8>(), length.cast_unsigned()) };
    // SAFETY: the global lock is held, and no fork hook, which is all that runs meanwhile, calls this.
    let memory = unsafe { &mut *MEMORY.0.get() };
    match serve::serve(memory, socket, program) {
        // SAFETY: the global lock is held; an empty format makes None.
        Ok(Served::HostGone) => unsafe { Py_BuildValue(c"".as_ptr()) },
        Ok(Served::Tools(slot)) => answer(-1, 0, slot),
        Ok(Served::Session(Begun {
            control,
            number,
            slot,
        })) => answer(control, number, slot),
        Err(errno) => {
            // SAFETY: points to libc's errno of this thread.
            let location = unsafe { __errno_location() };
            // SAFETY: as above.
            unsafe { *location = errno };
            // SAFETY: the exception type is valid for the interpreter's life.
            let kind = unsafe { PyExc_OSError };
            // SAFETY: the global lock is held.
            unsafe { PyErr_SetFromErrno(kind) }
        }
    }
}

fn answer(control: c_int, number: u32, slot: u32) -> *mut PyObject {
    // SAFETY: the global lock is held; the format takes an int and two unsigned ints.
    unsafe { Py_BuildValue(c"(iII)".as_ptr(), control, number, slot) }
}

/// Which side of [`fork`] this is.
pub(crate) enum Process {
    /// The child's id.
    Parent(i32),
    Child,
    /// An errno.
    Failed(i32),
}

/// Forks by way of libc, which then knows the thread that it runs in. The new process is the one that
/// goes on in Python.
pub(crate) fn fork() -> Process {
    // SAFETY: this process has one thread, and takes no lock that a fork handler could want.
    match unsafe { libc_fork() } {
        0 => Process::Child,
        -1 => {
            // SAFETY: points to libc's errno of this thread.
            let location = unsafe { __errno_location() };
            // SAFETY: as above.
            Process::Failed(unsafe { *location })
        }
        pid => Process::Parent(pid),
    }
}

/// Takes the interpreter's locks for a fork.
pub(crate) fn before_fork() {
    // SAFETY: the global lock is held.
    unsafe { PyOS_BeforeFork() };
}

/// Gives them back in the zygote.
pub(crate) fn after_fork_parent() {
    // SAFETY: paired with `before_fork`, the global lock is held.
    unsafe { PyOS_AfterFork_Parent() };
}

/// Makes the interpreter whole in the session.
pub(crate) fn after_fork_child() {
    // SAFETY: paired with `before_fork` in the parent; this is the only thread.
    unsafe { PyOS_AfterFork_Child() };
}
