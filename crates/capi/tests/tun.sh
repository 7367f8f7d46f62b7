# Tests examples/tun_echo.c, a node behind a TUN interface, in a separate network namespace: the
# kernel's TCP sends 8,893 bytes to the node's echo service and receives them back. The first
# argument is the compiled program.
set -e
"$1" rp0 & pid=$!
trap 'kill $pid' EXIT
for _ in $(seq 100); do ip link show rp0 >/dev/null 2>&1 && break; sleep 0.05; done
ip address add fd72::1/64 dev rp0 nodad
ip link set rp0 up
exec 3<>/dev/tcp/fd72::ff:fe00:2/7
(seq 1 2000 >&3) &
head -c 8893 <&3 | cmp - <(seq 1 2000)
