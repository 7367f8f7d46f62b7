//! A leaf on ARM's MPS2 board with a Cortex-M3.
#![no_std]
#![no_main]

use redpoll_firmware::board::mps2::Mps2;
use redpoll_firmware::leaf;

#[unsafe(no_mangle)]
fn image_main() -> ! {
    leaf::run::<Mps2>()
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    redpoll_firmware::board::reset()
}
