# Sourced by the Makefile and by setup.sh, at the repository's root: selects a `cargo` and `rustc` that
# are recent enough, wherever they were installed. Changes only the environment of
# this shell.

# The oldest Rust that builds the workspace: 1.RUST_MINOR.
RUST_MINOR=$(sed -n 's/^rust-version = "1\.\([0-9]*\).*/\1/p' Cargo.toml)
# The release of Rust that setup.sh installs if there is none that is recent enough.
# Sizes, counts of instructions, and the listing of the API are compared only with it.
RUST_TESTED=1.95.0

rust_is_recent() {
    version=$(rustc --version 2>/dev/null) && cargo --version >/dev/null 2>&1 || return 1
    minor=${version#rustc 1.}
    minor=${minor%%.*}
    [ "$minor" -ge "$RUST_MINOR" ] 2>/dev/null
}

rustup_bin=${CARGO_HOME:-$HOME/.cargo}/bin
path_as_it_was=$PATH
# The user's own Rust precedes the system's, as in the user's shell.
[ ! -x "$rustup_bin/cargo" ] || PATH="$rustup_bin:$PATH"
if ! rust_is_recent; then
    # An older default toolchain of the user stays; only this build uses another one.
    for toolchain in "$RUST_TESTED" stable; do
        if RUSTUP_AUTO_INSTALL=0 RUSTUP_TOOLCHAIN=$toolchain rustc --version >/dev/null 2>&1 && [ -x "$rustup_bin/rustup" ]; then
            RUSTUP_TOOLCHAIN=$toolchain
            export RUSTUP_TOOLCHAIN
            rust_is_recent && break
        fi
    done
    rust_is_recent || PATH=$path_as_it_was
fi
# Adds Node to the PATH, if scripts/setup.sh has installed it.
[ ! -x target/tools/node/bin/node ] || PATH="$PWD/target/tools/node/bin:$PATH"
export PATH
