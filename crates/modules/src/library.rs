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

/// A loaded shared object, which is unloaded when the `Library` is dropped.
pub(crate) struct Library {
    handle: NonNull<libc::c_void>,
    /// The file, which stays open because the loader identifies the object by its path.
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
        // Bind all symbols now: later binding would run the loader's code on the node's small
        // stack.
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
        // SAFETY: the handle belongs to a loaded object, and the name is a C string.
        NonNull::new(unsafe { libc::dlsym(self.handle.as_ptr(), name.as_ptr()) })
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: the handle belongs to a loaded object, and is not used again.
        unsafe { libc::dlclose(self.handle.as_ptr()) };
    }
}

fn last_error() -> String {
    // SAFETY: the returned text, if any, is a C string that stays valid until the next call in this
    // thread.
    let text = unsafe {
        let text = libc::dlerror();
        (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
    };
    text.unwrap_or_default()
}

/// Raises the limit of file descriptors to its maximum: each node needs one, and the default limit
/// is too low for a thousand nodes.
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
