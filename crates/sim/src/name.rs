//! Names, as scenarios and files of measurements give them.

/// Whether `text` can name a node, an app or a fault.
pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 64
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}
