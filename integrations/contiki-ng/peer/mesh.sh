#!/bin/sh
# Nodes of Contiki-NG with Redpoll's TCP, and nodes of Redpoll, in the meshes of Redpoll's simulator
# that docs/modules.md describes. The script builds the modules with the sources of Contiki-NG in
# $CONTIKI and the library $REDPOLL_LIB, and runs the test `interop` with five seeds.
set -e
here=$(cd "$(dirname "$0")" && pwd)
modules=$(mktemp -d)
trap 'rm -rf "$modules"' EXIT
for routing in lite classic; do
    for root in 0 1; do
        name=peer-$routing-$([ $root = 1 ] && echo root || echo node)
        make -C "$here" TARGET=cooja CONTIKI="${CONTIKI:?must be the folder of Contiki-NG}" \
            BUILD_DIR_CONFIG="$name" DEFINES=PEER_IS_ROOT=$root \
            MAKE_ROUTING="MAKE_ROUTING_RPL_$(echo $routing | tr a-z A-Z)"
        cp "$here/build/cooja/$name/peer.cooja" "$modules/$name.cooja"
    done
done
cd "$here/../../.."
for seed in 1 2 3 4 5; do
    REDPOLL_SEED=$seed REDPOLL_MODULES=$modules cargo test -q -p redpoll-modules --test interop
done
