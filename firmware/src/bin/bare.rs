//! The image `tcp` without TCP: it contains nothing of the engine.
#![no_std]
#![no_main]

use core::hint::black_box;

use redpoll_firmware as image;

#[unsafe(no_mangle)]
fn image_main() -> ! {
    let buffers = image::memory::buffers();
    black_box(&buffers);
    loop {
        black_box(0);
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
