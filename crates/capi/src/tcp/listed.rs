//! Objects in the caller's memory that the library recognises, and lists of them.
//!
//! An object begins with a mark and its own address, so the library distinguishes it from other
//! memory and from a copy. Lists link the objects, so their number has no limit. A list ends at
//! memory that is no longer such an object, which a program may have overwritten by mistake.

use core::marker::PhantomData;
use core::ptr;

use redpoll_socket::Errno;

use crate::error::reference;

/// A kind of object.
pub trait Kind {
    /// First word of an object of this kind.
    const MARK: u32;
}

/// An object in the caller's memory.
#[repr(C, align(8))]
#[derive(Debug)]
pub struct Listed<T> {
    mark: u32,
    here: *const Listed<T>,
    next: *mut Listed<T>,
    pub(crate) it: T,
}

impl<T: Kind> Listed<T> {
    /// Returns the object, if it exists.
    ///
    /// # Errors
    /// `EFAULT` for a pointer that is null or misaligned, `EINVAL` for other memory.
    ///
    /// # Safety
    /// If the pointer is neither null nor misaligned, it points to as many readable bytes as the
    /// object has, which no other code uses during the lifetime of the reference.
    pub(crate) unsafe fn find<'a>(pointer: *mut Self) -> Result<&'a mut Self, Errno> {
        if pointer.is_null() || !pointer.is_aligned() {
            return Err(Errno::EFAULT);
        }
        // SAFETY: by this function's conditions. Only these two fields are read before the
        // pointer is known to be an object.
        let (mark, here) = unsafe {
            let here = &raw const (*pointer).here;
            ((&raw const (*pointer).mark).read(), here.read())
        };
        if mark != T::MARK || !ptr::eq(here, pointer) {
            return Err(Errno::EINVAL);
        }
        // SAFETY: by this function's conditions.
        unsafe { reference(pointer) }
    }

    /// Creates an object that is in no list.
    ///
    /// # Errors
    /// `EFAULT` for a place that is null or misaligned.
    ///
    /// # Safety
    /// A place that is neither null nor misaligned has the memory of an object, which no other code
    /// uses during the object's life.
    pub(crate) unsafe fn make(place: *mut Self, it: T) -> Result<(), Errno> {
        if place.is_null() || !place.is_aligned() {
            return Err(Errno::EFAULT);
        }
        // SAFETY: by this function's conditions.
        unsafe { Listed::write(place, ptr::null_mut(), it) };
        Ok(())
    }

    /// Writes an object.
    ///
    /// # Safety
    /// The place has the memory of an object, which no other code uses during the object's life.
    unsafe fn write(place: *mut Self, next: *mut Self, it: T) {
        // SAFETY: by this function's conditions.
        unsafe {
            place.write(Listed {
                mark: T::MARK,
                here: place,
                next,
                it,
            });
        }
    }
}

/// A list of objects, the most recently added one first.
#[derive(Debug)]
pub(crate) struct List<T> {
    first: *mut Listed<T>,
}

impl<T: Kind> List<T> {
    pub(crate) const EMPTY: List<T> = List {
        first: ptr::null_mut(),
    };

    /// Returns the objects of the list, one at a time.
    ///
    /// # Safety
    /// The memory of every object that was added and not removed is readable. No other code uses it
    /// during the lifetime of the iterator, and the caller keeps no reference that the iterator
    /// has returned before.
    pub(crate) unsafe fn walk<'a>(&self) -> Walk<'a, T> {
        Walk {
            next: self.first,
            life: PhantomData,
        }
    }

    /// Returns whether an object is in the list.
    ///
    /// # Safety
    /// As [`List::walk`].
    pub(crate) unsafe fn has(&self, object: *const Listed<T>) -> bool {
        // SAFETY: by this function's conditions.
        unsafe { self.walk() }.any(|it| ptr::eq(it, object))
    }

    /// Checks that an object can be made at a place and added to the list. If the list still links
    /// to the place, but a program has overwritten the object there, the list is cut off before it.
    /// Otherwise, adding the object would make the list circular.
    ///
    /// # Errors
    /// `EFAULT` for a place that is null or misaligned, `EISCONN` for an object of the list.
    ///
    /// # Safety
    /// As [`List::walk`].
    pub(crate) unsafe fn admit(&mut self, place: *mut Listed<T>) -> Result<(), Errno> {
        if place.is_null() || !place.is_aligned() {
            return Err(Errno::EFAULT);
        }
        let mut link = &mut self.first;
        loop {
            let is_place = ptr::eq(*link, place);
            // SAFETY: by this function's conditions.
            match unsafe { Listed::find(*link) } {
                Ok(_) if is_place => return Err(Errno::EISCONN),
                Ok(object) => link = &mut object.next,
                Err(_) => {
                    *link = ptr::null_mut();
                    return Ok(());
                }
            }
        }
    }

    /// Makes an object and adds it to the list.
    ///
    /// # Safety
    /// [`List::admit`] has returned `Ok` for the place. The place has the memory of an object,
    /// which no other code uses during the object's life.
    pub(crate) unsafe fn add(&mut self, place: *mut Listed<T>, it: T) {
        // SAFETY: by this function's conditions.
        unsafe { Listed::write(place, self.first, it) };
        self.first = place;
    }

    /// Removes an object from the list, so that it exists no longer.
    ///
    /// # Safety
    /// As [`List::walk`]; the object is in the list.
    pub(crate) unsafe fn remove(&mut self, object: *mut Listed<T>) {
        // SAFETY: by this function's conditions.
        unsafe {
            let next = (*object).next;
            if ptr::eq(self.first, object) {
                self.first = next;
            } else if let Some(before) = self.walk().find(|it| ptr::eq(it.next, object)) {
                before.next = next;
            }
            (*object).mark = 0;
        }
    }
}

/// Iterator over the objects of a list.
pub(crate) struct Walk<'a, T> {
    next: *mut Listed<T>,
    life: PhantomData<&'a mut T>,
}

impl<'a, T: Kind> Iterator for Walk<'a, T> {
    type Item = &'a mut Listed<T>;

    fn next(&mut self) -> Option<&'a mut Listed<T>> {
        // SAFETY: by the conditions of `walk`.
        let object = unsafe { Listed::find(self.next) }.ok()?;
        self.next = object.next;
        Some(object)
    }
}
