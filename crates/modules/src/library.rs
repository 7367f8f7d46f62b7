//! A private copy of a shared object.
//!
//! A node's whole state is in its firmware's globals, and loading a file twice returns the
//! existing globals. Each node's file is therefore an anonymous file in memory, which the
//! dynamic loader treats as another object.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::ptr::NonNull;

/// A loaded shared object. It is unloaded when this is dropped.
pub(crate) struct Library {
    handle: NonNull<libc::c_void>,
    /// Open as long as the object is loaded: the loader knows it by the descriptor's name.
    _file: File,
}

impl Library {
    /// Loads a copy of a shared object that has these bytes. Its constructors run.
    pub(crate) fn load(bytes: &[u8]) -> Result<Library, String> {
        more_descriptors();
        // SAFETY: the name is a C string; the result is checked.
        let descriptor = unsafe { libc::memfd_create(c"module".as_ptr(), libc::MFD_CLOEXEC) };
        if descriptor < 0 {
            return Err(std::io::Error::last_os_error().to_string());
        }
        // SAFETY: `descriptor` has just been opened, and `file` is its only owner.
        let mut file = unsafe { File::from_raw_fd(descriptor) };
        file.write_all(bytes).map_err(|error| error.to_string())?;
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let name = CString::new(path.clone()).map_err(|error| error.to_string())?;
        // All symbols are bound at once: a node's stack is small, and the loader's own code
        // would run on it.
        let flags = libc::RTLD_NOW | libc::RTLD_LOCAL;
        // SAFETY: the name is a C string. The object's constructors run; the user has chosen to
        // run this code.
        let handle = unsafe { libc::dlopen(name.as_ptr(), flags) };
        match NonNull::new(handle) {
            Some(handle) => Ok(Library {
                handle,
                _file: file,
            }),
            None => Err(last_error().replace(&format!("{path}: "), "")),
        }
    }

    pub(crate) fn symbol(&self, name: &CStr) -> Option<NonNull<libc::c_void>> {
        // SAFETY: the handle is that of a loaded object, the name a C string.
        NonNull::new(unsafe { libc::dlsym(self.handle.as_ptr(), name.as_ptr()) })
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: the handle is that of a loaded object, and is not used again.
        unsafe { libc::dlclose(self.handle.as_ptr()) };
    }
}

fn last_error() -> String {
    // SAFETY: the text that it returns, if any, is a C string that is good until the next
    // call in this thread.
    let text = unsafe {
        let text = libc::dlerror();
        (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
    };
    text.unwrap_or_default()
}

/// Raises the limit of descriptors: each node needs one, and the default limit is too low for a
/// thousand nodes.
pub(crate) fn more_descriptors() {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the structure exists during both calls.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0
            && limit.rlim_cur < limit.rlim_max
        {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
}
