#!/bin/sh
# Builds OpenThread as a module of the simulator, from its unpacked source.
# Usage: build.sh SOURCE BUILD OUTPUT
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$1 build=$2 output=$3
header=$here/../../crates/modules/include

# A configuration that was interrupted has a cache but no build files.
if [ ! -f "$build/build.ninja" ] && [ ! -f "$build/Makefile" ]; then
    generator=
    command -v ninja >/dev/null && generator="-G Ninja"
    # shellcheck disable=SC2086
    cmake $generator -S "$source" -B "$build" -DCMAKE_BUILD_TYPE=MinSizeRel -DBUILD_TESTING=OFF \
        -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DOT_PLATFORM=external -DOT_FTD=ON -DOT_MTD=OFF \
        -DOT_RCP=OFF -DOT_APP_CLI=OFF -DOT_APP_NCP=OFF -DOT_APP_RCP=OFF -DOT_TCP=ON \
        -DOT_COMPILE_WARNING_AS_ERROR=OFF -DOT_PROJECT_CONFIG="$here/config.h" >/dev/null
fi
cmake --build "$build" --parallel 2 --target openthread-cli-ftd openthread-ftd tcplp-ftd \
    mbedtls mbedx509 mbedcrypto openthread-platform >/dev/null

mkdir -p "$(dirname "$output")"
c="$build/third_party/mbedtls/repo"
cc -shared -fPIC -O2 -Wall -Wextra -o "$output.new" -I "$source/include" -I "$header" \
    "$here/platform.c" -Wl,--no-undefined -Wl,--start-group \
    "$build/src/cli/libopenthread-cli-ftd.a" "$build/src/core/libopenthread-ftd.a" \
    "$build/third_party/tcplp/libtcplp-ftd.a" "$build/src/lib/platform/libopenthread-platform.a" \
    "$c/library/libmbedtls.a" "$c/library/libmbedx509.a" "$c/library/libmbedcrypto.a" \
    "$c/3rdparty/everest/libeverest.a" "$c/3rdparty/p256-m/libp256m.a" \
    -Wl,--end-group -Wl,-Bsymbolic -lstdc++ -lm
mv "$output.new" "$output"
