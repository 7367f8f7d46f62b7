#!/bin/sh
# Tests RIOT's native board with Redpoll's TCP against Linux's TCP over a TAP interface, in a
# network namespace: Linux receives 100,000 bytes from RIOT, and three times sends 100,000 bytes to
# RIOT's echo server and receives them back. The argument is the program of RIOT.
set -e
[ "$IN_NAMESPACE" ] || exec env IN_NAMESPACE=1 unshare --map-root-user --net timeout 120 "$0" "$@"
ip link set lo up
ip tuntap add dev tap0 mode tap
ip address add fd00:7270::1/64 dev tap0 nodad
ip link set tap0 up
python3 - "$1" <<'PYTHON'
import socket, subprocess, sys

TOTAL = 100_000
listener = socket.create_server(("fd00:7270::1", 8), family=socket.AF_INET6)
listener.settimeout(30)
riot = subprocess.Popen([sys.argv[1], "tap0"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
try:
    peer, address = listener.accept()
    peer.settimeout(30)
    received = b""
    while part := peer.recv(65536):
        received += part
    peer.close()
    assert received == bytes(97 + i % 23 for i in range(TOTAL)), len(received)
    print(f"Linux received {len(received)} bytes from {address[0]}")
    for line in riot.stdout:
        print(line, end="")
        if line.startswith("listening"):
            break
    for round in range(3):
        sent = bytes((i * 7 + round) % 251 for i in range(TOTAL))
        echo = socket.create_connection(("fd00:7270::2", 7), timeout=30)
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
        print(f"echo {round + 1}: {len(back)} bytes")
    print("all right")
finally:
    riot.kill()
PYTHON
