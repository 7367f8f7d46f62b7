//! Events of nodes in the log of a product. Only this file uses the crates `log` and `defmt`.

/// How important an event is.
#[cfg(any(feature = "log", feature = "defmt"))]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// A change of the node's place in the network, such as a new parent.
    Info,
    /// An event of one connection or packet.
    Debug,
}

/// Writes an event to the log. The macro [`event!`](crate::event!) calls this function. `module` is
/// the path of the module in which the event occurs.
#[cfg(any(feature = "log", feature = "defmt"))]
pub fn emit(level: Level, module: &str, text: core::fmt::Arguments<'_>) {
    #[cfg(feature = "log")]
    log::log!(
        target: module,
        match level {
            Level::Info => log::Level::Info,
            Level::Debug => log::Level::Debug,
        },
        "{text}"
    );
    #[cfg(feature = "defmt")]
    {
        let text = defmt::Display2Format(&text);
        match level {
            Level::Info => defmt::info!("{=str}: {}", module, text),
            Level::Debug => defmt::debug!("{=str}: {}", module, text),
        }
    }
}

/// Logs an event: a [`Level`](crate::events::Level), and a text with arguments as in `format!`.
///
/// The features `log` and `defmt` of this crate select the log that receives the event. With
/// neither feature, the macro checks its arguments and produces no code.
///
/// ```
/// redpoll_base::event!(Debug, "drop: {}", "no_route");
/// ```
#[cfg(any(feature = "log", feature = "defmt"))]
#[macro_export]
macro_rules! event {
    ($level:ident, $($text:tt)+) => {
        $crate::events::emit(
            $crate::events::Level::$level,
            ::core::module_path!(),
            ::core::format_args!($($text)+),
        )
    };
}

/// Logs an event: a level, and a text with arguments as in `format!`. This build has neither the
/// feature `log` nor `defmt`, so the macro only checks its arguments and produces no code.
///
/// ```
/// redpoll_base::event!(Debug, "drop: {}", "no_route");
/// ```
#[cfg(not(any(feature = "log", feature = "defmt")))]
#[macro_export]
macro_rules! event {
    ($level:ident, $($text:tt)+) => {
        if false {
            let _ = ::core::format_args!($($text)+);
        }
    };
}
