//! A radio co-processor that executes commands, on a pseudo-terminal or as a program.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::pty::openpty;
use nix::unistd::ttyname;
use redpoll_linux::radio::hdlc::{Decoder, encode};
use redpoll_linux::radio::rcp::packed;
use redpoll_linux::radio::spinel::{Command, Message, property, radio_caps, status};
use redpoll_wire::hdlc::Frame;

/// Answers requests at the other side of `line` until the line ends, or `ends` receives a message.
/// Each request is reported to `asked`.
pub fn serve(mut line: File, ends: &Receiver<()>, asked: &Sender<()>) {
    let mut decoder = Decoder::default();
    let mut buffer = [0; 512];
    while ends.try_recv().is_err() {
        let mut fds = [PollFd::new(line.as_fd(), PollFlags::POLLIN)];
        let _ = poll(&mut fds, PollTimeout::from(20u8));
        if !fds[0].any().unwrap_or(false) {
            continue;
        }
        let Ok(len @ 1..) = line.read(&mut buffer) else {
            return;
        };
        for byte in &buffer[..len] {
            if let Some(Frame::Good(frame)) = decoder.input(*byte) {
                answer(&mut line, frame, asked);
            }
        }
    }
}

fn answer(line: &mut File, frame: &[u8], asked: &Sender<()>) {
    let Some(message) = Message::parse(frame) else {
        return;
    };
    let _ = asked.send(());
    let caps = packed(radio_caps::ACK_TIMEOUT | radio_caps::CSMA_BACKOFF);
    let power_on = packed(status::RESET_BEGIN);
    let (tid, property, value): (u8, u32, &[u8]) = match (message.command, message.property) {
        (Command::Reset, _) => (0, property::LAST_STATUS, &power_on),
        (Command::Get, property::PROTOCOL_VERSION) => (message.tid, message.property, &[4, 3]),
        (Command::Get, property::NCP_VERSION) => (message.tid, message.property, b"FAKE/1.0\0"),
        (Command::Get, property::RADIO_CAPS) => (message.tid, message.property, &caps),
        (Command::Set, property::STREAM_RAW) => (message.tid, property::LAST_STATUS, &[0, 1, 1]),
        (Command::Set, _) => (message.tid, message.property, message.value),
        _ => return,
    };
    let answer = Message {
        tid,
        command: Command::Is,
        property,
        value,
    };
    let _ = line.write_all(&encode(&answer.to_frame()));
}

pub struct Stick {
    ends: Sender<()>,
    pub asked: Receiver<()>,
    thread: Option<JoinHandle<()>>,
}

impl Stick {
    pub fn plug_in(link: &Path, owner: u32) -> Stick {
        let pty = openpty(None, None).expect("a pseudo-terminal");
        // A program that inherited the descriptors would keep the line open after unplugging.
        for end in [pty.master.as_fd(), pty.slave.as_fd()] {
            fcntl(end, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).unwrap();
        }
        let name = ttyname(&pty.slave).unwrap();
        std::os::unix::fs::chown(&name, Some(owner), None).expect("root may change the owner");
        let _ = std::fs::remove_file(link);
        std::os::unix::fs::symlink(name, link).unwrap();
        let (ends, end) = channel();
        let (sender, asked) = channel();
        let thread = std::thread::spawn(move || {
            // This side stays open, because otherwise the line ends while no program has it open.
            let _slave = pty.slave;
            serve(File::from(pty.master), &end, &sender);
        });
        Stick {
            ends,
            asked,
            thread: Some(thread),
        }
    }

    pub fn unplug(mut self) {
        let _ = self.ends.send(());
        self.thread.take().unwrap().join().unwrap();
    }
}
