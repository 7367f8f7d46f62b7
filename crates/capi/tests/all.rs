//! All integration tests as one program.

mod beside;
mod c;
mod qemu;
mod tun;
