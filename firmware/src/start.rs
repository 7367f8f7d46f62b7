//! Code from reset to the image's `image_main`.

use core::ptr::{addr_of, addr_of_mut};

unsafe extern "C" {
    static stack_top: u32;
    static data_load: u32;
    static mut data_start: u32;
    static data_end: u32;
    static mut bss_start: u32;
    static bss_end: u32;
}

unsafe extern "Rust" {
    /// The image's main function; each binary defines its own.
    fn image_main() -> !;
}

/// The head of the vector table: ARMv6-M Architecture Reference Manual, B1.5.3.
#[repr(C)]
struct Vectors {
    stack: *const u32,
    reset: extern "C" fn() -> !,
    exceptions: [extern "C" fn() -> !; 14],
}

// SAFETY: no code writes the vector table.
unsafe impl Sync for Vectors {}

#[unsafe(link_section = ".vectors")]
#[used]
static VECTORS: Vectors = Vectors {
    stack: &raw const stack_top,
    reset,
    exceptions: [fault; 14],
};

#[unsafe(no_mangle)]
extern "C" fn reset() -> ! {
    // SAFETY: the linker script defines both regions, aligned to words, and they contain no values
    // of Rust yet. The accesses are volatile, so that the loops do not become calls of memcpy,
    // which might have its own memory.
    unsafe {
        let mut from = addr_of!(data_load);
        let mut to = addr_of_mut!(data_start);
        while to.cast_const() < addr_of!(data_end) {
            to.write_volatile(from.read_volatile());
            to = to.add(1);
            from = from.add(1);
        }
        let mut to = addr_of_mut!(bss_start);
        while to.cast_const() < addr_of!(bss_end) {
            to.write_volatile(0);
            to = to.add(1);
        }
        image_main()
    }
}

/// No interrupt is ever taken, so every exception is a fault.
extern "C" fn fault() -> ! {
    crate::host::exit(false)
}
