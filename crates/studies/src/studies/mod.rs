//! The studies. A new study is a folder here and a line below, without change in `experiments`.

pub mod hurni2012;
pub mod kim2015;
pub mod kumar2020;
pub mod lim2022;
pub mod ota;
pub mod park2019;
pub mod thread;

use redpoll_experiments::Study;

pub const STUDIES: &[Study] = &[
    kumar2020::STUDY,
    kim2015::STUDY,
    lim2022::STUDY,
    hurni2012::STUDY,
    park2019::STUDY,
    ota::STUDY,
    thread::STUDY,
];
