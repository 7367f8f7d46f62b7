//! All that is tested from outside, as one program.

mod beside;
mod c;
mod qemu;
mod tun;
