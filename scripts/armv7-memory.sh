#!/bin/sh
# Measures the memory of redpoll-taim for armv7 without flows, on an emulated 32-bit ARM board with Debian's kernel:
#
#   scripts/armv7-memory.sh PROGRAM [FOLDER]
#
# PROGRAM is the stripped program, such as target/dist-stage/armv7-unknown-linux-gnueabihf/release/redpoll-taim.
# The emulator of single programs (qemu-user) has no netfilter, so the daemon cannot start in it. FOLDER keeps the
# kernel and the C library, which apt-get downloads once (46 MB). The script fails if
# the program uses more than 8 MB.
set -eu

max_kb=8000
program=$(realpath "$1")
folder=${2:-target/dist-memory}
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial"
folder=$(realpath "$folder")

# Configures apt-get separately, for another architecture and without the lists of this system.
cat >"$folder/apt.conf" <<END
Dir::State::lists "$folder/lists";
Dir::State::status "$folder/status";
Dir::Cache "$folder/cache";
Dir::Etc::sourcelist "$folder/sources.list";
Dir::Etc::sourceparts "-";
APT::Architecture "armhf";
APT::Architectures { "armhf"; };
APT::Sandbox::User "root";
Acquire::Languages "none";
END
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror bookworm main" >"$folder/sources.list"
: >"$folder/status"
export APT_CONFIG="$folder/apt.conf"

if [ ! -d "$folder/kernel" ]; then
    cd "$folder"
    apt-get -qq update
    kernel=$(apt-cache depends linux-image-armmp | sed -n 's/.*Depends: *//p' | head -n 1)
    apt-get -qq download "$kernel" busybox-static libc6 libgcc-s1
    for package in busybox-static_* libc6_* libgcc-s1_*; do dpkg-deb -x "$package" base; done
    dpkg-deb -x "$kernel"_* kernel.part
    mv kernel.part kernel
    cd - >/dev/null
fi

# The initial RAM disk: the program, the C library, a shell, and the kernel modules of NFQUEUE.
root=$folder/root
rm -rf "$root"
mkdir -p "$root/proc" "$root/sys" "$root/dev" "$root/lib" "$root/modules"
cp -a "$folder/base/bin" "$root/"
cp -a "$folder"/base/lib/ld-linux-armhf.so.3 "$root/lib/"
cp -aL "$folder"/base/lib/arm-linux-gnueabihf "$root/lib/"
cp "$program" "$root/bin/redpoll-taim"
for module in nfnetlink nfnetlink_queue; do
    cp "$folder"/kernel/lib/modules/*/kernel/net/netfilter/$module.ko "$root/modules/"
done
cat >"$root/init" <<'END'
#!/bin/busybox sh
busybox mount -t proc proc /proc
busybox mount -t sysfs sys /sys
busybox mount -t devtmpfs dev /dev
busybox insmod /modules/nfnetlink.ko
busybox insmod /modules/nfnetlink_queue.ko
busybox ip link set lo up
redpoll-taim --queue 1 --metrics 2>/log &
program=$!
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    busybox grep -q 'reading queue' /log && break
    busybox sleep 1
done
busybox sleep 5
busybox cat /log
busybox grep -E 'Name|VmHWM|VmRSS' /proc/$program/status
busybox poweroff -f
END
chmod +x "$root/init"
(cd "$root" && find . | cpio --quiet -o -H newc | gzip -1) >"$folder/initrd"

said=$(timeout 300 qemu-system-arm -machine virt -cpu cortex-a15 -m 256 -nographic -no-reboot \
    -kernel "$folder"/kernel/boot/vmlinuz-* -initrd "$folder/initrd" -append "console=ttyAMA0 quiet panic=-1" </dev/null)
echo "$said" | grep -aE 'redpoll-taim: |Vm' || { echo "$said" | tail -n 20; exit 1; }
used=$(echo "$said" | tr -d '\r' | sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB.*/\1/p')
[ -n "$used" ] || { echo "armv7-memory: redpoll-taim does not run in the emulator; the lines above are its log" >&2; exit 1; }
echo "armv7-memory: redpoll-taim uses $used kB without flows (at most $max_kb)"
[ "$used" -le $max_kb ]
