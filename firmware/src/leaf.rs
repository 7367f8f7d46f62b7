//! The images `leaf-*`: [`redpoll_leaf`] on a board's serial line, at whose other end is the
//! radio.
//!
//! The node lies in the frame of [`run`], which is never left: made there, it is not moved.
//! What is painted as stack is below it.

use redpoll_leaf::{Device, Services, Status, Storage};
use redpoll_uart::{Answerer, Begin, News};

use crate::board::{self, Board};
use crate::place::Place;
use crate::stack;

static STORAGE: Place<Storage> = Place::new();
static ANSWERER: Place<Answerer> = Place::new();

/// Runs the leaf.
pub fn run<B: Board>() -> ! {
    board::start::<B>();
    let answerer = ANSWERER.put(Answerer::default);
    let storage = STORAGE.put(Storage::new);
    let begin = await_begin::<B>(answerer);
    let mut node = redpoll_leaf::node(&begin, storage.memory());
    let mut services = Services::start(&mut node, &begin);
    stack::paint();
    answerer.answer(&mut node, None, B::write);
    serve::<B>(answerer, &mut node, &mut services)
}

/// Waits until somebody has the node begin.
#[inline(never)]
fn await_begin<B: Board>(answerer: &mut Answerer) -> Begin {
    Answerer::hello(B::write);
    loop {
        let request = answerer.input(board::read::<B>(), B::write);
        if let Some(News::Begin(begin)) = request.map(|request| request.news) {
            return begin;
        }
    }
}

/// Answers whatever is asked, until the node is to begin anew.
#[inline(never)]
fn serve<B: Board>(answerer: &mut Answerer, node: &mut Device, services: &mut Services) -> ! {
    loop {
        let damaged = answerer.damaged();
        let Some(request) = answerer.input(board::read::<B>(), B::write) else {
            continue;
        };
        if matches!(request.news, News::Begin(_)) {
            board::reset();
        }
        let status = Status {
            board: B::NAME,
            now: request.at,
            stack: Some(stack::used),
            damaged,
            ..services.status()
        };
        services.on_request(node, &request, status);
        answerer.answer(node, services.wakes_at(), B::write);
    }
}
