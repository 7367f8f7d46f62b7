//! Talks to the debugger or emulator, by ARM's semihosting.

use core::arch::asm;
use core::fmt;

const WRITE0: u32 = 0x04;
const GET_CMDLINE: u32 = 0x15;
const EXIT: u32 = 0x18;

const APPLICATION_EXIT: u32 = 0x2_0026;
const RUN_TIME_ERROR: u32 = 0x2_0023;

fn call(operation: u32, argument: u32) -> u32 {
    let result;
    // SAFETY: the host reads and writes the memory at `argument`, which the callers below keep
    // valid for the call. The stack does not change.
    unsafe {
        asm!("bkpt 0xab", inlateout("r0") operation => result, in("r1") argument, options(nostack));
    }
    result
}

/// Ends the emulation with the exit code 0 or 1.
pub fn exit(fine: bool) -> ! {
    let reason = if fine {
        APPLICATION_EXIT
    } else {
        RUN_TIME_ERROR
    };
    loop {
        call(EXIT, reason);
    }
}

#[derive(Debug)]
pub struct Console;

impl fmt::Write for Console {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // The operation WRITE0 requires a zero byte at the end of each text.
        for piece in text.as_bytes().chunks(31) {
            let mut buffer = [0u8; 32];
            buffer[..piece.len()].copy_from_slice(piece);
            call(WRITE0, buffer.as_ptr() as u32);
        }
        Ok(())
    }
}

/// Reports the reason, and ends the emulation.
pub fn fail(why: &str) -> ! {
    let _ = fmt::Write::write_fmt(&mut Console, format_args!("error {why}\n"));
    exit(false)
}

/// Ends the emulation with an error unless `holds` is true.
pub fn check(holds: bool) {
    if !holds {
        fail("a check failed");
    }
}

/// Returns the number at the end of the emulator's command line for the image.
pub fn argument() -> Option<u32> {
    let mut buffer = [0u8; 256];
    let mut block = [buffer.as_mut_ptr() as u32, buffer.len() as u32];
    if call(GET_CMDLINE, block.as_mut_ptr() as u32) != 0 {
        return None;
    }
    let end = buffer.iter().position(|byte| *byte == 0)?;
    let line = core::str::from_utf8(&buffer[..end]).ok()?;
    line.rsplit(' ').next()?.parse().ok()
}
