# Tests examples/ip_tun.c, a node without a radio behind a TUN interface, in a separate network
# namespace. The kernel's TCP fetches two pages of 100,000 bytes from the node, and the node fetches
# a page of 300,000 bytes from a server over the kernel's TCP. The first argument is that server
# (tests/kernel.c); the others are the command that runs ip_tun, such as Valgrind and ip_tun.
set -e -o pipefail
peer=$1
shift
ip link set lo up
ip tuntap add dev rp0 mode tun
ip address add fd72::1/64 dev rp0 nodad
ip link set rp0 up
pid=
trap '[ -z "$pid" ] || kill $pid' EXIT

"$@" rp0 serve 80 & pid=$!
page() { awk 'BEGIN { for (i = 0; i < 100000; i++) printf "%02x", i % 251 }'; }
for _ in 1 2; do
    # The node may not listen yet.
    for _ in $(seq 100); do { exec 3<>/dev/tcp/fd72::2/80; } 2>/dev/null && break; sleep 0.1; done
    printf 'GET / HTTP/1.0\r\n\r\n' >&3
    { while read -r line <&3; [ "$line" != $'\r' ]; do :; done; od -An -v -tx1 | tr -d ' \n'; } <&3 | cmp - <(page)
    exec 3<&-
done
kill $pid
wait $pid # fails if Valgrind or the sanitizer has found an error
pid=

exec 4< <("$peer" fd72::1 8000)
read -r _ <&4
"$@" rp0 fetch fd72::1 8000 / |
    cmp - <(awk 'BEGIN { for (i = 0; i < 300000; i++) printf "%c", 97 + i % 23 }')
