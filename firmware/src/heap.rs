//! A heap for the images that need one. Blocks have sizes of powers of two, each size with a list
//! of free blocks. Blocks are cut from an arena and never returned to it. Allocating and freeing a
//! block take the same few instructions at any time.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::ptr::{NonNull, null_mut};

const ARENA: usize = 256 * 1024;
/// The smallest block is of 2^4 bytes, the largest of 2^15.
const SMALLEST: u32 = 4;
const SIZES: usize = 12;

#[repr(align(8))]
struct Arena([u8; ARENA]);

struct Free {
    next: Option<NonNull<Free>>,
}

struct Lists {
    free: [Option<NonNull<Free>>; SIZES],
    arena: Arena,
    used: usize,
}

/// The heap of the [module](self). An image declares it as its `#[global_allocator]`.
pub struct Heap(UnsafeCell<Lists>);

// SAFETY: there is one thread and no interrupt.
unsafe impl Sync for Heap {}

impl Heap {
    /// Returns a heap that is completely free.
    pub const fn new() -> Heap {
        Heap(UnsafeCell::new(Lists {
            free: [None; SIZES],
            arena: Arena([0; ARENA]),
            used: 0,
        }))
    }

    /// Returns the list for blocks of this layout, and their size in bytes.
    fn class(layout: Layout) -> (usize, usize) {
        let bytes = layout.size().max(layout.align()).max(1 << SMALLEST);
        let bits = bytes.next_power_of_two().trailing_zeros();
        ((bits - SMALLEST) as usize, 1 << bits)
    }
}

impl Default for Heap {
    fn default() -> Self {
        Heap::new()
    }
}

// SAFETY: each block is cut from the arena once, and is in one list or has one owner. Blocks of a
// class have at least the size and alignment of any layout of the class, up to eight bytes, which
// is the largest alignment in the images.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: there is no other access at this time.
        let lists = unsafe { &mut *self.0.get() };
        let (class, size) = Heap::class(layout);
        let Some(list) = lists.free.get_mut(class) else {
            return null_mut();
        };
        if let Some(block) = *list {
            // SAFETY: `dealloc` wrote the entries of the list.
            *list = unsafe { block.as_ref() }.next;
            return block.as_ptr().cast();
        }
        let start = lists.used;
        if layout.align() > 8 || ARENA - start < size {
            return null_mut();
        }
        lists.used += size;
        // SAFETY: the block at `start` lies within the arena.
        unsafe { lists.arena.0.as_mut_ptr().add(start) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: there is no other access at this time.
        let lists = unsafe { &mut *self.0.get() };
        let (class, _) = Heap::class(layout);
        let (Some(list), Some(block)) = (
            lists.free.get_mut(class),
            NonNull::new(block.cast::<Free>()),
        ) else {
            return;
        };
        // SAFETY: `alloc` made the block, of at least 16 bytes; it has no owner any more.
        unsafe { block.write(Free { next: *list }) };
        *list = Some(block);
    }
}
