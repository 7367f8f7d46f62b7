#!/bin/sh
# Contiki-NG's native platform with Redpoll's TCP, against Linux's TCP. The script builds
# redpoll-test with the sources of Contiki-NG in $CONTIKI. Contiki-NG and Linux run in two network
# namespaces without a connection to the host: Linux in the first, Contiki-NG behind a TUN interface
# in the second, which forwards packets and drops them at random in the second round.
# The argument is the share of packets to drop, in percent, 5 by default.
set -e
here=$(cd "$(dirname "$0")" && pwd)
LOSS=${1:-5}
program=$here/build/native/redpoll-test.native
if [ -z "$IN_NAMESPACE" ]; then
    make -C "$here" TARGET=native CONTIKI="${CONTIKI:?must be the folder of Contiki-NG}"
    exec env IN_NAMESPACE=1 unshare --map-root-user --net timeout 600 "$0" "$LOSS"
fi

unshare --net sleep 600 &
router=$!
trap 'kill $router' EXIT
while [ "$(readlink /proc/$router/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do sleep 0.1; done
in_router="nsenter --target $router --net"
ip link add redpoll0 type veth peer name redpoll1
ip link set redpoll0 gso_max_segs 1 # one packet, and not several segments in one, is dropped
ip link set redpoll1 netns $router
ip address add fd00:7270::2/64 dev redpoll0 nodad
ip link set redpoll0 up
$in_router sh -e <<'ROUTER'
ip address add fd00:7270::1/64 dev redpoll1 nodad
ip link set redpoll1 up
ip tuntap add dev tun0 mode tun
ip address add fd00::1/64 dev tun0 nodad
ip link set tun0 up
echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
ROUTER
ip route add fd00::/64 via fd00:7270::1

exchange() {
    python3 - $in_router "$program" <<'PYTHON'
import socket, subprocess, sys, time

TOTAL = 200_000
CONTIKI = "fd00::302:304:506:708"
listener = socket.create_server(("fd00:7270::2", 8), family=socket.AF_INET6)
listener.settimeout(60)
# The standard input stays open and empty; at its end, the native platform would read without a pause.
contiki = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
try:
    peer, address = listener.accept()
    start = time.monotonic()
    peer.settimeout(120)
    assert address[0] == CONTIKI, address
    peer.sendall(bytes(i * 7 % 251 for i in range(TOTAL)))
    peer.shutdown(socket.SHUT_WR)
    assert peer.recv(1) == b""
    peer.close()
    print(f"Contiki-NG closed its connection after {time.monotonic() - start:.2f} s")
    for line in contiki.stdout:  # also has what ifconfig prints for Contiki-NG
        if line.startswith("fetched"):
            print(line, end="")
            assert line == f"fetched {TOTAL} bytes, 0 wrong, end: 0\n"
        if line.startswith("listening"):
            break
    for round in range(3):
        sent = bytes((i * 7 + round) % 251 for i in range(TOTAL))
        start = time.monotonic()
        echo = socket.create_connection((CONTIKI, 7), timeout=120)
        back = b""
        for at in range(0, TOTAL, 2000):
            echo.sendall(sent[at : at + 2000])
            while len(back) < at and (part := echo.recv(65536)):
                back += part
        echo.shutdown(socket.SHUT_WR)
        while part := echo.recv(65536):
            back += part
        assert back == sent, (len(back), len(sent))
        echo.close()
        print(f"echo {round + 1}: {len(back)} bytes in each direction in {time.monotonic() - start:.2f} s")
finally:
    contiki.kill()
PYTHON
}

echo "without loss:"
exchange
if $in_router tc qdisc add dev tun0 root netem loss "$LOSS%" 2>/dev/null; then
    $in_router tc qdisc add dev redpoll1 root netem loss "$LOSS%"
    dropped="tc -s qdisc show"
else
    # The kernel has no netem.
    $in_router ip6tables -A FORWARD -m statistic --mode random \
        --probability "$(awk "BEGIN { print $LOSS / 100 }")" -j DROP
    $in_router ip6tables -A FORWARD -j ACCEPT
    dropped="ip6tables -L FORWARD -v -x"
fi
echo "with a loss of $LOSS % in each direction:"
exchange
$in_router $dropped
echo "all right"
