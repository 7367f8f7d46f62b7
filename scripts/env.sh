# Sourced by the Makefile and by setup.sh, at the repository's root: makes `cargo` and `rustc` ones that
# are recent enough, wherever they were installed. Changes nothing but this
# shell's environment.

# The oldest Rust that the workspace builds with: 1.RUST_MINOR.
RUST_MINOR=$(sed -n 's/^rust-version = "1\.\([0-9]*\).*/\1/p' Cargo.toml)

rust_is_recent() {
    version=$(rustc --version 2>/dev/null) && cargo --version >/dev/null 2>&1 || return 1
    minor=${version#rustc 1.}
    minor=${minor%%.*}
    [ "$minor" -ge "$RUST_MINOR" ] 2>/dev/null
}

rustup_bin=${CARGO_HOME:-$HOME/.cargo}/bin
path_as_it_was=$PATH
# The user's own Rust comes before the system's, as it does in their shell.
[ ! -x "$rustup_bin/cargo" ] || PATH="$rustup_bin:$PATH"
if ! rust_is_recent; then
    # An older default stays the user's default; only this build takes stable.
    if RUSTUP_TOOLCHAIN=stable rustc --version >/dev/null 2>&1 && [ -x "$rustup_bin/rustup" ]; then
        RUSTUP_TOOLCHAIN=stable
        export RUSTUP_TOOLCHAIN
    fi
    rust_is_recent || PATH=$path_as_it_was
fi
# Node, where scripts/setup.sh had to get one.
[ ! -x target/tools/node/bin/node ] || PATH="$PWD/target/tools/node/bin:$PATH"
export PATH
