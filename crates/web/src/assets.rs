//! The page, as `make web` has built it from `web/`.

#[derive(Clone, Copy, Debug)]
pub struct Asset {
    /// Path of the file on the server.
    pub path: &'static str,
    pub media_type: &'static str,
    pub bytes: &'static [u8],
}

pub const ASSETS: [Asset; 3] = [
    Asset {
        path: "/",
        media_type: "text/html; charset=utf-8",
        bytes: include_bytes!("../assets/index.html"),
    },
    Asset {
        path: "/live.js",
        media_type: "text/javascript; charset=utf-8",
        bytes: include_bytes!("../assets/live.js"),
    },
    Asset {
        path: "/live.css",
        media_type: "text/css; charset=utf-8",
        bytes: include_bytes!("../assets/live.css"),
    },
];
