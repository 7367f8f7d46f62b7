#!/bin/sh
# Builds OpenThread as a module of the simulator, from its unpacked source, with Redpoll for C.
# Usage: build.sh SOURCE BUILD            builds OpenThread's libraries
#        build.sh SOURCE BUILD C OUTPUT   links them with the static library C
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$1 build=$2
crates=$here/../../crates

# The mark is missing if the configuration was interrupted. It is older than this script if another
# version of the script wrote it.
mark=$build/configured
if [ ! -f "$mark" ] || [ "$here/build.sh" -nt "$mark" ]; then
    generator=
    command -v ninja >/dev/null && generator="-G Ninja"
    # shellcheck disable=SC2086
    cmake $generator -S "$source" -B "$build" -DCMAKE_BUILD_TYPE=MinSizeRel -DBUILD_TESTING=OFF \
        -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DOT_PLATFORM=external -DOT_FTD=ON -DOT_MTD=OFF \
        -DOT_RCP=OFF -DOT_APP_CLI=OFF -DOT_APP_NCP=OFF -DOT_APP_RCP=OFF -DOT_TCP=ON -DOT_PING_SENDER=ON \
        -DOT_COMPILE_WARNING_AS_ERROR=OFF -DOT_PROJECT_CONFIG="$here/config.h" >/dev/null
    touch "$mark"
fi
cmake --build "$build" --parallel 2 --target openthread-cli-ftd openthread-ftd tcplp-ftd \
    mbedtls mbedx509 mbedcrypto openthread-platform >/dev/null
[ $# -ge 4 ] || exit 0

output=$4
mkdir -p "$(dirname "$output")"
c="$build/third_party/mbedtls/repo"
cc -shared -fPIC -O2 -Wall -Wextra -o "$output.new" \
    -I "$source/include" -I "$crates/modules/include" -I "$crates/capi/include" \
    "$here/platform.c" "$here/bulk.c" "$here/over_redpoll.c" "$here/over_tcplp.c" \
    "$here/over_coap.c" \
    -Wl,--no-undefined -Wl,--wrap=tcp_dropwithreset -Wl,--start-group \
    "$build/src/cli/libopenthread-cli-ftd.a" "$build/src/core/libopenthread-ftd.a" \
    "$build/third_party/tcplp/libtcplp-ftd.a" "$build/src/lib/platform/libopenthread-platform.a" \
    "$c/library/libmbedtls.a" "$c/library/libmbedx509.a" "$c/library/libmbedcrypto.a" \
    "$c/3rdparty/everest/libeverest.a" "$c/3rdparty/p256-m/libp256m.a" "$3" \
    -Wl,--end-group -Wl,--exclude-libs,ALL -Wl,-Bsymbolic -lstdc++ -lm -lpthread -ldl
mv "$output.new" "$output"
