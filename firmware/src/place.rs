//! A place for a value that exists as long as the image runs.

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, Ordering};

/// See the [module](self).
pub struct Place<T> {
    value: UnsafeCell<MaybeUninit<T>>,
    taken: AtomicBool,
}

// SAFETY: there is one thread and no interrupt, and the value is returned only once.
unsafe impl<T> Sync for Place<T> {}

impl<T> Place<T> {
    pub const fn new() -> Place<T> {
        Place {
            value: UnsafeCell::new(MaybeUninit::uninit()),
            taken: AtomicBool::new(false),
        }
    }

    /// Writes the result of `make` to this place. A second call restarts the image.
    #[inline(always)]
    pub fn put(&'static self, make: impl FnOnce() -> T) -> &'static mut T {
        if self.taken.load(Ordering::Relaxed) {
            crate::board::reset();
        }
        self.taken.store(true, Ordering::Relaxed);
        // SAFETY: the flag prevents a second entry, so this is the only reference.
        unsafe { (*self.value.get()).write(make()) }
    }
}

impl<T> Default for Place<T> {
    fn default() -> Self {
        Place::new()
    }
}
