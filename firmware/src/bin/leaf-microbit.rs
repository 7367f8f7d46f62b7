//! A leaf on the BBC micro:bit, a Cortex-M0 with 16 KiB of RAM.
#![no_std]
#![no_main]

use redpoll_firmware::board::nrf51::Nrf51;
use redpoll_firmware::leaf;

#[unsafe(no_mangle)]
fn image_main() -> ! {
    leaf::run::<Nrf51>()
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    redpoll_firmware::board::reset()
}
