//! Requests of HTTP/1.x for `/`, with and without the fields that RFC 9112 requires.

/// Returns requests for `/`, each with whether a server must refuse it with 400: because of a Host
/// field that is missing, repeated or invalid (RFC 9112 §3.2), or of a space between a field's name
/// and its colon (§5.1).
pub fn requests() -> Vec<(Vec<u8>, bool)> {
    let hosts: [(&[&str], bool, bool); 12] = [
        // The fields, and whether they are wrong in HTTP/1.1 and in HTTP/1.0.
        (&[], true, false),
        (&["Host: a"], false, false),
        (&["host:a"], false, false),
        (&["HOST: [fd00::1]:80"], false, false),
        (&["Host:"], false, false),
        (&["Host: a", "Host: a"], true, true),
        (&["Host: a", "hOST: b"], true, true),
        (&["Host: a b"], true, true),
        (&["Host: a/b"], true, true),
        (&["Host : a"], true, true),
        (&["Host\t: a"], true, true),
        (&["Hosts: a"], true, false),
    ];
    let others: [(&str, bool); 6] = [
        ("", false),
        ("Accept: text/plain, a : b", false),
        ("X-Host: b", false),
        ("Accept : */*", true),
        ("Accept\t: */*", true),
        ("X-Y  : ", true),
    ];
    let mut all = Vec::new();
    for (version, is_old) in [("1.1", false), ("1.0", true)] {
        for (fields, wrong_now, wrong_then) in hosts {
            for (other, is_wrong) in others {
                for other_first in [false, true] {
                    let mut lines: Vec<&str> = fields.to_vec();
                    if !other.is_empty() {
                        let at = if other_first { 0 } else { lines.len() };
                        lines.insert(at, other);
                    }
                    let mut request = format!("GET / HTTP/{version}\r\n");
                    for line in lines {
                        request.push_str(line);
                        request.push_str("\r\n");
                    }
                    request.push_str("\r\n");
                    let wrong_host = if is_old { wrong_then } else { wrong_now };
                    all.push((request.into_bytes(), wrong_host || is_wrong));
                }
            }
        }
    }
    all
}
