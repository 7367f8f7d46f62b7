//! The images `leaf-*`: [`redpoll_leaf`] on a board's serial line, whose other end is the radio.
//!
//! The node is in the stack frame of [`run`], which never returns, so the node is not moved. The
//! stack that is filled with a pattern is below this frame.

use core::task::{Context, Waker};

use redpoll_leaf::{Device, Services, Status, Storage};
use redpoll_stack::mac::Radio;
use redpoll_uart::{Begin, LineRadio, Port};

use crate::board::{self, Board};
use crate::place::Place;
use crate::stack;

static STORAGE: Place<Storage> = Place::new();
static RADIO: Place<LineRadio<SerialLine>> = Place::new();

/// A board's serial line, which waits for bytes.
pub struct SerialLine {
    read: fn() -> u8,
    write: fn(u8),
}

impl Port for SerialLine {
    fn read(&mut self) -> Option<u8> {
        Some((self.read)())
    }

    fn write(&mut self, byte: u8) {
        (self.write)(byte);
    }

    fn restart(&mut self) {
        board::reset()
    }
}

pub fn run<B: Board>() -> ! {
    board::start::<B>();
    let (radio, storage) = places::<B>();
    let begin = await_begin(radio);
    let mut node = redpoll_leaf::node(&begin, storage.memory());
    let mut services = Services::start(&mut node, &begin);
    stack::paint();
    serve::<B>(radio, &mut node, &mut services)
}

/// Creates the radio and the storage in statics. The stack frame of this function is free
/// afterwards.
#[inline(never)]
fn places<B: Board>() -> (&'static mut LineRadio<SerialLine>, &'static mut Storage) {
    let radio = RADIO.put(|| {
        LineRadio::new(SerialLine {
            read: board::read::<B>,
            write: B::write,
        })
    });
    (radio, STORAGE.put(|| Storage::NEW))
}

/// Waits for the message that starts the node, and returns the parameters in it.
#[inline(never)]
fn await_begin(radio: &mut LineRadio<SerialLine>) -> Begin {
    loop {
        if let Some(begin) = radio.poll_begin() {
            return begin;
        }
    }
}

#[inline(never)]
fn serve<B: Board>(
    radio: &mut LineRadio<SerialLine>,
    node: &mut Device,
    services: &mut Services,
) -> ! {
    loop {
        let mut cx = Context::from_waker(Waker::noop());
        let _ = node.drive(radio, &mut cx, services.wakes_at());
        let status = Status {
            board: B::NAME,
            now: radio.now(),
            stack: Some(stack::used),
            damaged: radio.damaged(),
            ..services.status()
        };
        services.serve(radio.now(), node, status);
    }
}
