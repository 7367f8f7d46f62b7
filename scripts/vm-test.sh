#!/bin/sh
# Tests the packages inside the virtual machine of `make vm-test`. systemd starts the script after each boot. The
# first part ends with a reboot, and the second part switches the machine off.
#
# The machine is a border router: the interface wpan0 leads to a namespace with a server, which stands for the mesh, and
# the interface up0 to a namespace with a client. Each check writes a line to the second serial port: "ok" or "failed", the
# name, and the measured value. The last line is "end" with the number of checks.
set -u
export LC_ALL=C DEBIAN_FRONTEND=noninteractive PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

results=/dev/ttyS1
work=/var/tmp/vm-test
config=/etc/redpoll/taim.toml
border_config=/etc/redpoll/border.toml
border=redpoll-border@border
mkdir -p $work
stty -F $results raw -echo

say() { printf '%s\n' "$*" >$results; }

# check NAME VALUE COMMAND...: the check passes if the command succeeds.
check() {
    name=$1 value=$2
    shift 2
    if "$@" >/dev/null 2>&1; then say "ok $name: $value"; else say "failed $name: $value"; fi
    echo x >>$work/count
}

uptime() { cut -d ' ' -f 1 /proc/uptime; }
passed() { awk "BEGIN { printf \"%.1f\", $(uptime) - $1 }"; }
at_most() { awk "BEGIN { exit !($1 <= $2) }"; }

# within SECONDS COMMAND...: repeats the command until it succeeds. $took is the time in seconds.
within() {
    limit=$1 since=$(uptime)
    shift
    until "$@" >/dev/null 2>&1; do
        took=$(passed "$since")
        at_most "$took" "$limit" || return 1
        sleep 0.1
    done
    took=$(passed "$since")
}

# Seconds from the start of the kernel until the unit became active.
active_after() { awk "BEGIN { printf \"%.1f\", $(property "$1" ActiveEnterTimestampMonotonic) / 1e6 }"; }
property() { systemctl show --property "$2" --value "$1"; }
is_active() { [ "$(systemctl is-active "$1")" = active ]; }
# Whether the unit is active with another process than $2.
is_replaced() { is_active "$1" && new=$(property "$1" MainPID) && [ "$new" != "$2" ] && [ "$new" != 0 ]; }

# mark; said UNIT TEXT: whether the unit has logged the text since the mark. With a cursor, journalctl leaves out the
# first line of a unit.
mark() { marked=@$(date +%s.%6N); }
logged() { journalctl --quiet --since "$marked" --output cat "$@"; }
said() { logged --unit "$1" | grep -qF -- "$2"; }
# The last line of the unit since the mark that contains the text.
line() { logged --unit "$1" | grep -F -- "$2" | tail -n 1; }

# fields UNIT TEXT FIELD...: prints the fields of the last line of the journal that contains the text.
fields() {
    journalctl --quiet --unit "$1" --output json | python3 -c '
import json, sys
text, *names = sys.argv[1:]
found = [entry for entry in map(json.loads, sys.stdin) if text in str(entry.get("MESSAGE"))]
print(" ".join(f"{name}={found[-1].get(name)}" for name in names) if found else "no such line")
' "$2" SYSLOG_IDENTIFIER PRIORITY $3
}

metrics() {
    python3 -c 'import urllib.request; print(urllib.request.urlopen("http://127.0.0.1:9633/metrics", timeout=2).read().decode())'
}
metric() { metrics | awk -v name="redpoll_taim_$1" '$1 == name { print $2 }'; }
# The number of packets that the daemon has read.
read_packets() {
    metrics | awk '/^redpoll_taim_(uncontended|on_probation|released|untracked|foreign|malformed)_total / { sum += $2 } END { print sum + 0 }'
}
# The number of packets that the kernel has put into queue 0.
queued_packets() { awk '$1 == 0 { print $8 }' /proc/net/netfilter/nfnetlink_queue; }

# flow PORT: sends 200 kB in each of four flows from the client to the server. Prints the number of complete flows.
flow() { ip netns exec outside python3 $work/peer.py send fd00:7a::2 "$1"; }
serves() { [ "$(flow 6000)" = "4 of 4" ]; }

make_network() {
    cat >$work/peer.py <<'END'
import socket, sys, threading

SIZE, FLOWS = 200_000, 4

def serve(port):
    listener = socket.create_server(("::", port), family=socket.AF_INET6, backlog=64)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=count, args=(connection,)).start()

def count(connection):
    size = 0
    while data := connection.recv(65_536):
        size += len(data)
    connection.sendall(str(size).encode())
    connection.close()

def send(host, port, done):
    try:
        with socket.create_connection((host, port), timeout=3) as connection:
            connection.settimeout(20)
            connection.sendall(bytes(SIZE))
            connection.shutdown(socket.SHUT_WR)
            if connection.recv(100) == str(SIZE).encode():
                done.append(1)
    except OSError:
        pass

if sys.argv[1] == "serve":
    for port in (6000, 6001):
        threading.Thread(target=serve, args=(port,)).start()
else:
    done = []
    flows = [threading.Thread(target=send, args=(sys.argv[2], int(sys.argv[3]), done)) for _ in range(FLOWS)]
    for step in ("start", "join"):
        for flow in flows:
            getattr(flow, step)()
    print(f"{len(done)} of {FLOWS}")
END
    cat >$work/network <<'END'
#!/bin/sh
set -eu
ip netns add mesh 2>/dev/null || true
ip netns add outside 2>/dev/null || true
add() {
    ip link add "$1" type veth peer name inside netns "$2"
    ip addr add "$3::1/64" dev "$1" nodad
    ip link set "$1" up
    ip -n "$2" addr add "$3::2/64" dev inside nodad
    ip -n "$2" link set lo up
    ip -n "$2" link set inside up
    ip -n "$2" route replace default via "$3::1"
}
[ -e /sys/class/net/up0 ] || add up0 outside fd00:6f
[ -e /sys/class/net/wpan0 ] || add wpan0 mesh fd00:7a
sysctl -q -w net.ipv6.conf.all.forwarding=1
END
    # At boot, the mesh starts later than the units under test.
    cat >/etc/systemd/system/network-of-the-test.service <<END
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStartPre=/bin/sleep 3
ExecStart=/bin/sh $work/network
[Install]
WantedBy=multi-user.target
END
    cat >/etc/systemd/system/server-of-the-test.service <<END
[Unit]
After=network-of-the-test.service
Requires=network-of-the-test.service
[Service]
ExecStart=/sbin/ip netns exec mesh /usr/bin/python3 $work/peer.py serve
[Install]
WantedBy=multi-user.target
END
    systemctl daemon-reload
    systemctl enable --now network-of-the-test server-of-the-test
}

# Lists all files of the system and all users, except logs, caches, databases of other programs, and the test itself.
state() {
    find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /run -o -path /tmp -o -path /var/tmp -o -path /var/log \
        -o -path /var/cache -o -path /var/lib/dpkg -o -path /var/lib/systemd/timers -o -path /packages \) -prune -o -print |
        grep -vE '^/etc/(passwd|group|shadow|gshadow|subuid|subgid)-$|-of-the-test.service$|^/var/lib/apt/(extended_states|lists/auxfiles)$|^/var/lib/systemd/random-seed$|/__pycache__'
    sed 's/^/passwd: /' /etc/passwd
    sed 's/^/group: /' /etc/group
}

# --- 1. From dpkg to a running service ---

install_taim() {
    begin=$(uptime)
    dpkg -i /packages/redpoll-taim_*.deb
    systemctl enable --now redpoll-taim
    started=$?
    within 60 redpoll-taim check
    total=$(passed "$begin")
    check "from dpkg -i to a safe TAiM, at most 60 s" "$total s" at_most "$total" 60
    check "systemctl enable --now succeeds" "exit code $started" [ $started = 0 ]
    state_now=$(systemctl is-active redpoll-taim)
    check "systemctl is-active" "$state_now" [ "$state_now" = active ]
    kind="$(property redpoll-taim Type), $(property redpoll-taim SubState)"
    check "the unit has reported that it is ready" "$kind" [ "$kind" = "notify, running" ]
    verdict=$(redpoll-taim check)
    check "redpoll-taim check" "$(echo "$verdict" | cut -c 1-70)" redpoll-taim check
    pid=$(property redpoll-taim MainPID)
    memory=$(awk '/^VmRSS/ { print $2 }' "/proc/$pid/status")
    check "memory without flows, at most 8000 kB" "$memory kB" at_most "$memory" 8000
    rights=$(awk '/^(CapEff|CapBnd|NoNewPrivs|Seccomp):/ { printf "%s%s ", $1, $2 }' "/proc/$pid/status")
    check "rights: CAP_NET_ADMIN only, no new ones, a filter of system calls" "$rights" \
        [ "$rights" = "CapEff:0000000000001000 CapBnd:0000000000001000 NoNewPrivs:1 Seccomp:2 " ]
    user=$(ps -o user:20= -o cls= -p "$pid" | xargs)
    check "user and scheduling class" "$user" [ "$user" = "redpoll-taim FF" ]
}

supervise_taim() {
    pid=$(property redpoll-taim MainPID)
    mark
    kill -STOP "$pid"
    within 15 is_replaced redpoll-taim "$pid"
    check "a stopped daemon is replaced within WatchdogSec + RestartSec + 5 s (15 s)" "$took s" is_replaced redpoll-taim "$pid"
    check "the journal names the watchdog" "$(line redpoll-taim 'Watchdog timeout')" said redpoll-taim "Watchdog timeout"
    pid=$(property redpoll-taim MainPID)
    kill -KILL "$pid"
    within 10 is_replaced redpoll-taim "$pid"
    check "a killed daemon is replaced within RestartSec + 5 s (10 s)" "$took s" is_replaced redpoll-taim "$pid"
    within 5 redpoll-taim check
    check "redpoll-taim check after both" "after $took s" redpoll-taim check
}

is_delay() { [ "$(metric delay_seconds)" = "$1" ]; }

reload_taim() {
    cp -p $config $work/taim.toml
    pid=$(property redpoll-taim MainPID)
    sed -i 's/^delay = .*/delay = "30 ms"/' $config
    systemctl reload redpoll-taim
    within 5 is_delay 0.03
    check "systemctl reload applies a changed setting" "delay $(metric delay_seconds) s after $took s" is_delay 0.03
    check "systemctl reload keeps the process" "PID $(property redpoll-taim MainPID)" [ "$(property redpoll-taim MainPID)" = "$pid" ]
    mark
    sed -i 's/^delay = .*/delay = 5/' $config
    systemctl reload redpoll-taim
    within 5 said redpoll-taim "the settings were not reloaded"
    check "reload of a wrong setting: an error in the journal" "$(line redpoll-taim 'not reloaded')" said redpoll-taim "delay: got 5; allowed: a time"
    mark
    cp -p $work/taim.toml $config
    chmod 600 $config
    systemctl reload redpoll-taim
    within 5 said redpoll-taim "the settings were not reloaded"
    check "reload of an unreadable file: an error in the journal" "$(line redpoll-taim 'not reloaded')" said redpoll-taim "Permission denied"
    check "after these errors, the same process has the old settings" "PID $(property redpoll-taim MainPID), delay $(metric delay_seconds) s" \
        [ "$(property redpoll-taim MainPID) $(metric delay_seconds)" = "$pid 0.03" ]
    mark
    systemctl restart redpoll-taim
    check "start with an unreadable file: the line says what to do" "$(line redpoll-taim 'Permission denied')" said redpoll-taim "chmod a+r $config"
    cp -p $work/taim.toml $config
    within 10 is_active redpoll-taim
    check "the unit starts by itself when the file is readable, within RestartSec + 5 s" "$took s" is_active redpoll-taim

    mark
    echo 'qeue = 1' >>$config
    systemctl restart redpoll-taim
    code=$?
    check "start with a wrong file fails" "exit code $code, $(systemctl is-active redpoll-taim)" [ $code != 0 ]
    check "the line says where and what to do" "$(line redpoll-taim qeue)" said redpoll-taim 'got the unknown key "qeue"; allowed: queue, '
    cp -p $work/taim.toml $config
    within 10 is_active redpoll-taim
    check "the unit starts by itself when the file is corrected, within RestartSec + 5 s" "$took s" is_active redpoll-taim
}

# --- 2. The journal ---

journal_taim() {
    mark
    pid=$(property redpoll-taim MainPID)
    ip link del wpan0
    within 5 said redpoll-taim "the interface vanished"
    /bin/sh $work/network
    within 5 said redpoll-taim "the interface appeared"
    check "an interface that vanishes does not end the daemon" "PID $(property redpoll-taim MainPID)" \
        [ "$(property redpoll-taim MainPID)" = "$pid" ]
    journal "start" "reading queue" 6
    journal "a reload with an error" "the settings were not reloaded" 3
    journal "a wrong file at the start" "unknown key" 3
    journal "an interface that vanishes" "the interface vanished" 4
    journal "an interface that appears" "the interface appeared" 6
    found=$(fields redpoll-taim "the interface vanished" REDPOLL_INTERFACE)
    check "journal: the interface is a field of its own" "$found" [ "${found##* }" = REDPOLL_INTERFACE=wpan0 ]
}

journal() {
    found=$(fields redpoll-taim "$2" "")
    check "journal: $1" "$found" [ "$found" = "SYSLOG_IDENTIFIER=redpoll-taim PRIORITY=$3" ]
}

# --- 3. Firewalls ---

# Each firewall drops forwarded packets, except connections to port 6000.
make_nft() {
    cat >/etc/nftables.conf <<'END'
#!/usr/sbin/nft -f
flush ruleset
table inet filter {
	chain forward {
		type filter hook forward priority filter; policy drop;
		ct state vmap { established : accept, related : accept, invalid : drop }
		meta l4proto ipv6-icmp accept
		iifname "up0" oifname "wpan0" tcp dport 6000 accept
	}
}
END
    systemctl enable nftables
    systemctl restart nftables
}
show_nft() { nft list ruleset; }
endanger_nft() { nft insert rule inet filter forward meta l4proto tcp queue num 0 bypass; }
block_nft() { nft "add table ip6 other; add chain ip6 other f { type filter hook forward priority mangle; }; add rule ip6 other f meta l4proto tcp queue num 0"; }
place_nft() { nft list table ip6 redpoll_taim | grep -c 'priority mangle'; }
ours_nft() { nft list ruleset | grep -c 'comment "redpoll-taim"'; }

make_ip6tables() {
    "$1-restore" <<'END'
*mangle
:FORWARD ACCEPT [0:0]
-A FORWARD -o up0 -p tcp -m tcp --tcp-flags SYN,RST SYN -j TCPMSS --clamp-mss-to-pmtu
COMMIT
*filter
:FORWARD DROP [0:0]
:from-outside - [0:0]
-A FORWARD -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A FORWARD -p ipv6-icmp -j ACCEPT
-A FORWARD -i up0 -j from-outside
-A from-outside -o wpan0 -p tcp -m tcp --dport 6000 -j ACCEPT
COMMIT
END
}
# Without the counters of the chains and the time of the output.
show_ip6tables() { "$1-save" | sed -e '/^#/d' -e 's/ \[[0-9:]*\]$//'; }
endanger_ip6tables() { "$1" -I FORWARD -p tcp -j NFQUEUE --queue-num 0 --queue-bypass; }
block_ip6tables() { "$1" -t mangle -A FORWARD -p tcp -j NFQUEUE --queue-num 0; }
# Our rules are the last ones of the chain FORWARD in the table mangle.
place_ip6tables() { "$1-save" -t mangle | grep '^-A FORWARD' | tail -n 2 | grep -c redpoll-taim; }
ours_ip6tables() { "$1-save" | grep -c 'comment redpoll-taim'; }

clear_firewalls() {
    systemctl stop redpoll-taim
    systemctl disable --now nftables
    nft flush ruleset
    for table in mangle filter; do
        [ ! -e /proc/net/ip6_tables_names ] || ! grep -q $table /proc/net/ip6_tables_names || {
            ip6tables-legacy -t $table -P FORWARD ACCEPT
            ip6tables-legacy -t $table -F
            ip6tables-legacy -t $table -X
            modprobe -r ip6table_$table
        }
    done
}

kinds() { redpoll-taim check --json | python3 -c 'import json, sys; print(" ".join(sorted({it["kind"] for it in json.load(sys.stdin)["findings"]})))'; }

# firewall FAMILY PROGRAM: one run with the firewall of an operator that is made with this program.
firewall() {
    family=$1 program=$2
    clear_firewalls
    "make_$family" "$program"
    before=$("show_$family" "$program")
    reached="$(flow 6000), $(flow 6001)"
    check "$program: flows to the open and the closed port without TAiM" "$reached" [ "$reached" = "4 of 4, 0 of 4" ]
    told=$(redpoll-taim install)
    check "$program: install uses the operator's program" "$(echo "$told" | sed 's/;.*//')" [ "${told#*"($program)"}" != "$told" ]
    installed=$("show_$family" "$program")
    count=$("ours_$family" "$program")
    check "$program: one rule for each direction" "$count" [ "$count" = 2 ]
    place=$("place_$family" "$program")
    check "$program: the rules precede the operator's table filter" "$place" [ "$place" -ge 1 ]
    redpoll-taim install
    check "$program: a second install changes nothing" "$("ours_$family" "$program") rules" [ "$("show_$family" "$program")" = "$installed" ]
    reached="$(flow 6000), $(flow 6001)"
    check "$program: flows with rules, without the daemon (bypass)" "$reached" [ "$reached" = "4 of 4, 0 of 4" ]
    found=$(kinds)
    check "$program: check reports the missing daemon" "$found" [ "$found" = no_program ]

    systemctl start redpoll-taim
    check "$program: the service keeps the rules" "$("ours_$family" "$program") rules" [ "$("show_$family" "$program")" = "$installed" ]
    redpoll-taim check
    code=$?
    check "$program: redpoll-taim check" "exit code $code" [ $code = 0 ]
    queued=$(queued_packets) read=$(read_packets)
    reached="$(flow 6000), $(flow 6001)"
    check "$program: flows with rules and the daemon" "$reached" [ "$reached" = "4 of 4, 0 of 4" ]
    queued=$(($(queued_packets) - queued)) read=$(($(read_packets) - read))
    check "$program: packets of the flows in the kernel's queue, and in the metrics" "$queued, $read" \
        [ "$queued" -gt 100 -a "$queued" = "$read" ]

    "endanger_$family" "$program"
    redpoll-taim check
    code="$? $(kinds)"
    reached="$(flow 6000), $(flow 6001)"
    check "$program: check finds a queue in front of the firewall" "exit code $code" [ "$code" = "1 skips_firewall" ]
    check "$program: such a queue does open the closed port" "$reached" [ "$reached" = "4 of 4, 4 of 4" ]
    "make_$family" "$program"
    redpoll-taim install
    "block_$family" "$program"
    redpoll-taim check
    code="$? $(kinds)"
    check "$program: check finds a queue without bypass" "exit code $code" [ "$code" = "1 no_bypass" ]
    "make_$family" "$program"
    redpoll-taim install

    kill -KILL "$(property redpoll-taim MainPID)"
    reached="$(flow 6000), $(flow 6001)"
    check "$program: flows after the daemon was killed" "$reached" [ "$reached" = "4 of 4, 0 of 4" ]
    systemctl stop redpoll-taim
    redpoll-taim uninstall
    after=$("show_$family" "$program")
    check "$program: uninstall restores the operator's rules" "$(printf '%s' "$after" | cksum | cut -d ' ' -f 1), before $(printf '%s' "$before" | cksum | cut -d ' ' -f 1)" \
        [ "$after" = "$before" ]
}

# --- 4. The border router ---

install_border() {
    dpkg -i /packages/redpoll_*.deb
    mark
    systemctl start $border
    code=$?
    check "border router without its stick: the start fails" "exit code $code" [ $code != 0 ]
    check "the line names the device and says what to do" "$(line $border ttyACM0)" said $border "; plug the stick in, or"
    systemctl stop $border
    systemctl reset-failed $border

    mark
    sed -i 's,^radio = .*,radio = "spinel+hdlc+uart:///dev/ttyUSB0",' $border_config
    systemctl start $border
    check "border router with a silent stick: the sandbox opens the serial port" "$(line $border 'the radio')" said $border "cannot be used"
    systemctl stop $border
    systemctl reset-failed $border

    cat >$border_config <<'END'
scenario = "office"
set = ["routing=rpl", "security.level=enc-mic-32", "security.key=000102030405060708090a0b0c0d0e0f"]
radio = "zep://127.0.0.1:17755?listen=127.0.0.1:17754"
state = "/var/lib/redpoll-border/border/counter"
hosts = "/var/lib/redpoll-border/border/hosts"
join = "tun"
name = "redpoll%d"
expose = []
END
    systemctl enable --now $border
    code=$?
    check "systemctl enable --now $border" "exit code $code, $(systemctl is-active $border)" is_active $border
    address=$(ip -6 -brief address show dev redpoll0 | awk '{ print $3 }')
    check "the TUN interface has an address" "redpoll0 $address" [ -n "$address" ]
    user=$(stat -c %u "/proc/$(property $border MainPID)")
    owner=$(stat -c %u /var/lib/private/redpoll-border/border)
    check "the state directory belongs to the unit's user" "$owner, user $user" [ "$owner" = "$user" -a "$user" != 0 ]
    files=$(ls /var/lib/redpoll-border/border | xargs)
    check "the unit writes its frame counter and names" "$files" [ "$files" = "counter hosts" ]
    heard=$(timeout 60 python3 -c '
import socket
air = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
air.bind(("127.0.0.1", 17755))
print(air.recv(2000)[:3].hex())')
    check "the radio sends frames (ZEP, version 2)" "$heard" [ "$heard" = 455802 ]
}

reload_border() {
    pid=$(property $border MainPID)
    mark
    sed -i 's/^expose = .*/expose = ["1883"]/' $border_config
    systemctl reload $border
    within 5 said $border "the settings were reloaded"
    check "border router: systemctl reload" "after $took s, PID $(property $border MainPID)" [ "$(property $border MainPID)" = "$pid" ]
    check "border router: reload is in the journal" "$(line $border 'were reloaded')" said $border "the settings were reloaded"
    mark
    echo 'chanel = 20' >>$border_config
    systemctl reload $border
    within 5 said $border "the settings were not reloaded"
    check "border router: reload of a wrong setting" "$(line $border 'not reloaded' | cut -c 1-100)" said $border 'got the unknown key "chanel"'
    sed -i '/^chanel/d' $border_config
    mark
    kill -STOP "$pid"
    within 20 is_replaced $border "$pid"
    check "border router: a stopped process is replaced within WatchdogSec + RestartSec + 5 s (20 s)" "$took s" is_replaced $border "$pid"
    check "border router: the journal names the watchdog" "$(line $border 'Watchdog timeout')" said $border "Watchdog timeout"
    interfaces=$(ls /sys/class/net | grep -c '^redpoll')
    check "border router: one TUN interface after the restart" "$interfaces" [ "$interfaces" = 1 ]
}

upgrade() {
    systemctl start redpoll-taim
    pid=$(property redpoll-taim MainPID)
    border_pid=$(property $border MainPID)
    dpkg -i /packages/redpoll-taim_*.deb /packages/redpoll_*.deb
    within 10 is_replaced redpoll-taim "$pid"
    check "an upgrade starts the running daemon again" "$took s, $(ours_nft) rules" is_replaced redpoll-taim "$pid"
    within 10 is_replaced $border "$border_pid"
    check "an upgrade starts the running border router again" "$took s" is_replaced $border "$border_pid"
}

expose() {
    value=$(systemd-analyze security --no-pager "$1" | sed -n 's/.*Overall exposure level for .*: \([0-9.]*\) .*/\1/p')
    check "systemd-analyze security $1, at most $2" "$value" at_most "${value:-99}" "$2"
}

# --- 5. After the reboot, and 6. the removal ---

rebooted() {
    within 60 is_active redpoll-taim
    check "after the reboot: redpoll-taim is active" "$(active_after redpoll-taim) s after the kernel's start" is_active redpoll-taim
    within 30 is_active $border
    check "after the reboot: $border is active" "$(active_after $border) s after the kernel's start" is_active $border
    within 10 redpoll-taim check
    check "after the reboot: redpoll-taim check" "$(redpoll-taim check | cut -c 1-70)" redpoll-taim check
    count="$(ours_nft), $(ip6tables-save | grep -c redpoll-taim)"
    check "after the reboot: rules in nft and in ip6tables" "$count" [ "$count" = "2, 0" ]
    count="$(pgrep -cx redpoll-taim) $(pgrep -cx redpoll) $(ls /sys/class/net | grep -c '^redpoll')"
    check "after the reboot: daemons, border routers, TUN interfaces" "$count" [ "$count" = "1 1 1" ]
    reached="$(flow 6000), $(flow 6001)"
    check "after the reboot: flows to the open and the closed port" "$reached" [ "$reached" = "4 of 4, 0 of 4" ]
    systemctl reload nftables
    redpoll-taim check
    code="$? $(kinds)"
    check "a reload of the operator's firewall removes the rules, and check reports it" "exit code $code" [ "$code" = "1 no_rule" ]
    systemctl restart redpoll-taim
    redpoll-taim check
    code=$?
    check "a restart of the service adds them again" "exit code $code, $(ours_nft) rules" [ "$code $(ours_nft)" = "0 2" ]
}

purge() {
    apt-get -y purge redpoll-taim redpoll
    code=$?
    check "apt purge of both packages, while both units run" "exit code $code" [ $code = 0 ]
    left=$(pgrep -x redpoll-taim; pgrep -x redpoll)
    check "purge: processes" "${left:-none}" [ -z "$left" ]
    left=$(systemctl list-unit-files --no-legend 'redpoll*'; systemctl list-units --all --no-legend 'redpoll*')
    left=$(echo "$left" | xargs)
    check "purge: units" "${left:-none}" [ -z "$left" ]
    left=$(getent passwd redpoll-taim redpoll-border; getent group redpoll-taim redpoll-border)
    check "purge: users and groups" "${left:-none}" [ -z "$left" ]
    left=$(nft list ruleset | grep -ci redpoll)
    check "purge: rules" "$left" [ "$left" = 0 ]
    left=$(ls /sys/class/net | grep '^redpoll' | xargs)
    check "purge: interfaces" "${left:-none}" [ -z "$left" ]
    state | sort >$work/after
    left=$(comm -3 $work/before $work/after | xargs)
    check "purge: files and users that differ from those before the installation" "${left:-none}" [ -z "$left" ]
    mark
    systemctl daemon-reload
    code=$?
    left=$(logged | grep redpoll | xargs)
    check "purge: systemctl daemon-reload" "exit code $code, ${left:-no message}" [ "$code$left" = 0 ]
    left=$(systemctl --failed --no-legend | xargs)
    check "purge: failed units" "${left:-none}" [ -z "$left" ]
}

if [ ! -e $work/rebooted ]; then
    say "note: $(uname -sr), $(systemctl --version | head -n 1), $(nft --version | cut -d ' ' -f 1,2), $(ip6tables --version)"
    make_network
    # The files of nftables.service, which the test enables later.
    systemctl enable nftables
    state | sort >$work/before
    systemctl disable nftables
    within 30 serves
    install_taim
    supervise_taim
    reload_taim
    journal_taim
    firewall ip6tables ip6tables
    firewall ip6tables ip6tables-legacy
    firewall nft nft
    install_border
    reload_border
    upgrade
    expose redpoll-taim.service 3.4
    expose $border.service 3.7
    touch $work/rebooted
    systemctl reboot
else
    rebooted
    purge
    say "end $(wc -l <$work/count)"
    systemctl poweroff
fi
