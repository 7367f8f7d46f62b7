//! The process of a node: loads the firmware and calls it for each event.

use std::ffi::{CStr, CString, c_int, c_void};

use super::host::{State, exit, table};
use super::interface::{Frame, Host, Module, VERSION};
use super::message::{Event, LAST, read_event};

/// Maximum length of an event in bytes; the longest events are console lines.
const EVENT_MAX: usize = 65_536;

/// Loads the firmware, reports the result, and handles events until the socket is closed.
pub(super) fn serve(socket: c_int, file: &CStr, seed: u64) -> ! {
    isolate(socket);
    let state = Box::into_raw(Box::new(State::new(SOCKET, seed)));
    // The firmware keeps the address of the table, which must therefore stay valid.
    let host = Box::leak(Box::new(table(state)));
    // SAFETY: the state was allocated above and is never freed. No firmware runs now.
    let reporter = unsafe { &mut *state };
    let module = match load(file) {
        Ok(module) => module,
        Err(problem) => reporter.fail(&problem),
    };
    reporter.send(LAST);
    let mut context = std::ptr::null_mut();
    let mut event = vec![0; EVENT_MAX];
    loop {
        // SAFETY: the buffer is writable for its length.
        let len = unsafe { libc::recv(SOCKET, event.as_mut_ptr().cast(), event.len(), 0) };
        let Some(request) = usize::try_from(len)
            .ok()
            .and_then(|len| read_event(event.get(..len)?))
        else {
            exit();
        };
        // SAFETY: the state is never freed, and `reporter` is no longer used. The reference ends
        // before the firmware runs.
        let ours = unsafe { &mut *state };
        ours.now_us = request.now_us;
        ours.busy = request.busy;
        ours.works &= !matches!(request.event, Event::Sent(_) | Event::Energy(_));
        call(&module, host, &mut context, &request.event);
        // SAFETY: the state is never freed, `ours` is no longer used, and no firmware runs now.
        unsafe { (*state).send(LAST) };
    }
}

/// Descriptor of the socket in this process.
const SOCKET: c_int = 3;

/// Closes all files of the simulator except the socket. Detaches the process from the output and
/// the signals of the terminal, and disables core files.
fn isolate(socket: c_int) {
    let no_core = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the calls concern only this process, and their arguments are valid. The process has
    // just been forked: no other thread uses the descriptors.
    unsafe {
        libc::dup2(socket, SOCKET);
        libc::close_range(SOCKET as u32 + 1, u32::MAX, 0);
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        for standard in 0..3 {
            libc::dup2(null, standard);
        }
        libc::close(null);
        libc::setrlimit(libc::RLIMIT_CORE, &raw const no_core);
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
            libc::signal(signal, libc::SIG_IGN);
        }
        for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGABRT] {
            libc::signal(signal, libc::SIG_DFL);
        }
    }
}

fn load(file: &CStr) -> Result<Module, String> {
    // SAFETY: the name is a C string. The file's constructors run; the user chose to run this code,
    // and this process contains nothing else.
    let handle = unsafe { libc::dlopen(file.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if handle.is_null() {
        let problem = loader_error();
        return Err(format!(
            "is not a module ({problem}); allowed: a shared object for this machine"
        ));
    }
    // SAFETY: the handle is that of a loaded object, the name a C string.
    let symbol = unsafe { libc::dlsym(handle, c"redpoll_module".as_ptr()) };
    if symbol.is_null() {
        return Err(
            "has no symbol redpoll_module; allowed: firmware that defines it as in \
                    redpoll_module.h, or interface = \"cooja\""
                .to_owned(),
        );
    }
    // SAFETY: by the header, the symbol begins with the version, so the address is aligned.
    let version = unsafe { symbol.cast::<u32>().read() };
    if version != VERSION {
        return Err(format!(
            "was built with version {version} of redpoll_module.h; allowed: version {VERSION}; \
             build it with this program's header"
        ));
    }
    // SAFETY: firmware of this version defines the symbol with this type.
    let module = unsafe { symbol.cast::<Module>().read() };
    match module.start {
        Some(_) => Ok(module),
        None => Err(
            "defines a redpoll_module whose `start` is null; allowed: a pointer to a function"
                .to_owned(),
        ),
    }
}

fn loader_error() -> String {
    // SAFETY: the text, if there is one, is a C string until the next call of the loader.
    let text = unsafe {
        let text = libc::dlerror();
        (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
    };
    text.unwrap_or_default()
}

fn call(module: &Module, host: &Host, context: &mut *mut c_void, event: &Event) {
    let it = *context;
    // SAFETY: the functions come from the loaded firmware. Their arguments are those of the header
    // and stay valid during the call. The user chose to run the firmware, in a separate process.
    unsafe {
        match event {
            Event::Start(eui64) => {
                if let Some(start) = module.start {
                    *context = start(host, eui64.as_ptr());
                }
            }
            Event::Alarm => drop(module.on_alarm.map(|act| act(it))),
            Event::Frame(info, bytes) => {
                let frame = Frame {
                    bytes: bytes.as_ptr(),
                    len: bytes.len(),
                    rssi_dbm: info.rssi_dbm,
                    lqi: info.lqi,
                    acked_pending: info.ack_sent_pending.into(),
                };
                let _ = module.on_frame.map(|act| act(it, &raw const frame));
            }
            Event::Sent(sent) => drop(module.on_sent.map(|act| act(it, (*sent).into()))),
            Event::Energy(dbm) => drop(module.on_energy.map(|act| act(it, *dbm))),
            Event::Line(line) => {
                if let (Some(act), Ok(line)) = (module.on_line, CString::new(line.as_slice())) {
                    act(it, line.as_ptr());
                }
            }
        }
    }
}
