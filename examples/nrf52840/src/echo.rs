//! The echo service (RFC 862), over any node.

use embedded_io_async::{Read, Write};
use redpoll_socket::nal::{Clock, Net, Profile, Watch};

/// Serves one connection after the other.
pub async fn serve<P: Profile, C: Clock, T: AsMut<[Watch]>>(net: &Net<P, C, T>, port: u16) {
    let Ok(listener) = net.tcp_listen(port) else {
        return;
    };
    loop {
        let Ok(mut stream) = listener.accept().await else {
            continue;
        };
        let mut bytes = [0; 256];
        while let Ok(len @ 1..) = stream.read(&mut bytes).await {
            if stream
                .write_all(bytes.get(..len).unwrap_or_default())
                .await
                .is_err()
            {
                break;
            }
        }
    }
}
