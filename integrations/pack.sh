#!/bin/sh
# Puts a package together from its manifest and the archives of `make c-libs`:
#
#   integrations/pack.sh platformio|esp-idf|zephyr ARCHIVES OUT
#
# Afterwards OUT is the library, component or module.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
kind=${1:-} archives=${2:-} out=${3:-}
case $kind in platformio | esp-idf | zephyr) ;; *)
    echo "pack.sh: '$kind' is not a kind of package; allowed: platformio, esp-idf, zephyr" >&2
    exit 2
    ;;
esac
if [ -z "$out" ] || [ -e "$out" ]; then
    echo "pack.sh: '$out' must be a folder that does not exist yet" >&2
    exit 2
fi
if [ ! -f "$archives/include/redpoll.h" ]; then
    echo "pack.sh: '$archives' has no include/redpoll.h; write the archives with: cargo xtask c-libs '$archives'" >&2
    exit 2
fi
parts=$out.new
trap 'rm -rf "$parts"' EXIT
rm -rf "$parts"
mkdir -p "$parts/lib"
cp -R "$here/$kind/." "$parts/"
cp "$root/LICENSE-APACHE" "$root/LICENSE-MIT" "$parts/"
url=$(sed -n 's/^repository = "\(.*\)"/\1/p' "$root/Cargo.toml")
version=$(sed -n 's/^#define RP_VERSION "\(.*\)"/\1/p' "$archives/include/redpoll.h")
for manifest in library.json idf_component.yml; do
    [ ! -f "$parts/$manifest" ] || sed -i "s,@URL@,$url,; s,@VERSION@,$version," "$parts/$manifest"
done
cp -R "$archives/include" "$parts/"
for archive in "$archives"/*/libredpoll.a; do
    target=$(basename "$(dirname "$archive")")
    case $kind-$target in esp-idf-thumb*) continue ;; esac
    mkdir -p "$parts/lib/$target"
    cp "$archive" "$parts/lib/$target/"
done
if [ "$kind" = zephyr ]; then
    cp -R "$archives/include" "$parts/lib/"
    cp "$root/crates/capi/adapters/zephyr_sockets.h" "$root/crates/capi/adapters/rp_errno.h" "$parts/include/"
fi
mv "$parts" "$out"
