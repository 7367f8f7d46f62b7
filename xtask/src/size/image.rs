//! A linked image: the content of flash, its crates, and its calls.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use addr2line::Loader;
use object::{Object, ObjectSection, ObjectSymbol, SectionFlags, SectionKind, SymbolKind, elf};

use super::thumb;
use crate::report::Failure;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    pub address: u64,
    pub size: u64,
    /// Demangled name, without the hash.
    pub name: String,
    pub is_code: bool,
}

impl Symbol {
    fn holds(&self, address: u64) -> bool {
        (self.address..self.address + self.size).contains(&address)
    }
}

/// The properties of a linked image that the checks need.
pub struct Image {
    pub path: PathBuf,
    /// Symbols in the order of their addresses.
    pub symbols: Vec<Symbol>,
    /// Bytes of flash: code, constants, and the initial values of variables.
    pub flash: u64,
    pub code: Vec<u8>,
    pub code_address: u64,
    /// Bytes of memory that variables take.
    pub variables: u64,
    /// Bytes of memory that the variables leave to the stack.
    pub stack_room: u64,
    lines: Loader,
}

impl Image {
    pub fn read(path: &Path) -> Result<Image, Failure> {
        let wrong = |e: &dyn std::fmt::Display| Failure::new(format!("{}: {e}", path.display()));
        let bytes = std::fs::read(path).map_err(|e| wrong(&e))?;
        let file = object::File::parse(bytes.as_slice()).map_err(|e| wrong(&e))?;
        let text = file
            .section_by_name(".text")
            .ok_or_else(|| wrong(&"no .text"))?;
        Ok(Image {
            path: path.to_path_buf(),
            symbols: symbols(&file),
            flash: file.sections().filter(is_loaded).map(|s| s.size()).sum(),
            code: text.data().map_err(|e| wrong(&e))?.to_vec(),
            code_address: text.address(),
            variables: file.sections().filter(is_variable).map(|s| s.size()).sum(),
            stack_room: address_of(&file, "stack_top").saturating_sub(address_of(&file, "bss_end")),
            lines: Loader::new(path).map_err(|e| wrong(&e))?,
        })
    }

    pub fn symbol_at(&self, address: u64) -> Option<&Symbol> {
        let after = self.symbols.partition_point(|s| s.address <= address);
        self.symbols[..after]
            .iter()
            .rev()
            .take(4)
            .find(|s| s.holds(address))
    }

    pub fn symbol_named(&self, name: &str) -> Option<&Symbol> {
        self.symbols.iter().find(|s| is_named(&s.name, name))
    }

    /// Returns the functions of the instruction at `address`: first the function whose source
    /// contains it, then those into which that function was inlined.
    pub fn functions_at(&self, address: u64) -> Vec<Frame> {
        let mut found = Vec::new();
        if let Ok(mut frames) = self.lines.find_frames(address) {
            while let Ok(Some(frame)) = frames.next() {
                let Some(function) = frame.function else {
                    continue;
                };
                let name = function
                    .demangle()
                    .map_or_else(|_| String::from("?"), |name| plain(&name));
                let place = frame.location.map(|location| {
                    let file = location.file.unwrap_or("?");
                    format!("{file}:{}", location.line.unwrap_or(0))
                });
                found.push(Frame { name, place });
            }
        }
        if let (true, Some(symbol)) = (found.is_empty(), self.symbol_at(address)) {
            found.push(Frame {
                name: symbol.name.clone(),
                place: None,
            });
        }
        found
    }

    /// Returns the flash by crate. Code of `core` that was inlined into a function counts for the
    /// crate of this function; functions of `core` that were not inlined count for `core`.
    pub fn flash_by_crate(&self) -> BTreeMap<String, u64> {
        let mut sums = BTreeMap::new();
        let mut named = 0;
        let mut end = 0;
        for symbol in &self.symbols {
            // A function with two names counts once.
            let (first, last) = (symbol.address.max(end), symbol.address + symbol.size);
            end = end.max(last);
            for address in (first..last).step_by(2) {
                let size = (last - address).min(2);
                let owner = if symbol.is_code {
                    self.owner(address)
                } else {
                    crate_of(&symbol.name).to_owned()
                };
                *sums.entry(owner).or_insert(0) += size;
                named += size;
            }
        }
        let rest = self.flash.saturating_sub(named);
        sums.insert("constants without a name, padding".to_owned(), rest);
        sums
    }

    fn owner(&self, address: u64) -> String {
        let frames = self.functions_at(address);
        let ours = frames
            .iter()
            .find(|frame| is_ours(crate_of(&frame.name)))
            .or(frames.last());
        ours.map_or("?", |frame| crate_of(&frame.name)).to_owned()
    }

    /// Returns the places that may panic: each call of a panicking function from other code. Paths
    /// are relative to `root`.
    pub fn panics(&self, root: &Path) -> Vec<String> {
        let calls = thumb::calls(&self.code, self.code_address);
        let callers: Vec<(u64, &Symbol, &Symbol)> = calls
            .iter()
            .filter_map(|&(from, to)| {
                let (caller, callee) = (self.symbol_at(from)?, self.symbol_at(to)?);
                (callee.address == to && caller != callee).then_some((from, caller, callee))
            })
            .collect();
        let mut panicking: BTreeSet<&str> = self
            .symbols
            .iter()
            .map(|symbol| symbol.name.as_str())
            .filter(|name| is_panicking(name))
            .collect();
        loop {
            let more: Vec<&str> = callers
                .iter()
                .filter(|(_, caller, callee)| {
                    panicking.contains(callee.name.as_str())
                        && crate_of(&caller.name) == "core"
                        && !panicking.contains(caller.name.as_str())
                })
                .map(|(_, caller, _)| caller.name.as_str())
                .collect();
            if more.is_empty() {
                break;
            }
            panicking.extend(more);
        }
        let mut found: BTreeSet<String> = callers
            .iter()
            .filter(|(_, caller, callee)| {
                panicking.contains(callee.name.as_str())
                    && !panicking.contains(caller.name.as_str())
            })
            .map(|(from, _, callee)| format!("{}: {}", self.place(*from), callee.name))
            .collect();
        if found.is_empty() {
            // A panicking function is linked, and called in a way that the analysis does not see.
            found.extend(panicking.into_iter().map(String::from));
        }
        let root = format!("{}/", root.display());
        let shown = found.iter().map(|place| place.replace(&root, ""));
        shown.collect()
    }

    /// Returns the place in the project's sources from which the instruction at `address` comes.
    fn place(&self, address: u64) -> String {
        let frames = self.functions_at(address);
        let ours = frames
            .iter()
            .find(|frame| is_ours(crate_of(&frame.name)))
            .or(frames.last());
        ours.map_or_else(
            || format!("{address:#x}"),
            |frame| match &frame.place {
                Some(place) => format!("{place}: {}", frame.name),
                None => frame.name.clone(),
            },
        )
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    pub name: String,
    pub place: Option<String>,
}

fn is_loaded(section: &object::Section<'_, '_>) -> bool {
    let allocated = match section.flags() {
        SectionFlags::Elf { sh_flags } => sh_flags & u64::from(elf::SHF_ALLOC) != 0,
        _ => false,
    };
    allocated && section.kind() != SectionKind::UninitializedData
}

fn is_variable(section: &object::Section<'_, '_>) -> bool {
    let of_memory = u64::from(elf::SHF_ALLOC | elf::SHF_WRITE);
    match section.flags() {
        SectionFlags::Elf { sh_flags } => sh_flags & of_memory == of_memory,
        _ => false,
    }
}

/// Returns the address of a symbol of the linker script.
fn address_of(file: &object::File<'_>, mark: &str) -> u64 {
    file.symbol_by_name(mark)
        .map_or(0, |symbol| symbol.address())
}

fn symbols(file: &object::File<'_>) -> Vec<Symbol> {
    let loaded: Vec<_> = file
        .sections()
        .filter(is_loaded)
        .map(|s| s.index())
        .collect();
    let mut symbols: Vec<Symbol> = file
        .symbols()
        .filter(|symbol| {
            let is_in_flash = symbol.section_index().is_some_and(|i| loaded.contains(&i));
            is_in_flash && symbol.size() > 0
        })
        .map(|symbol| {
            let is_code = symbol.kind() == SymbolKind::Text;
            let name = symbol.name().unwrap_or("?");
            Symbol {
                // The lowest bit of a function's address marks Thumb code.
                address: symbol.address() & !u64::from(is_code),
                size: symbol.size(),
                name: plain(&format!("{:#}", rustc_demangle::demangle(name))),
                is_code,
            }
        })
        .collect();
    symbols.sort_by(|a, b| (a.address, &a.name).cmp(&(b.address, &b.name)));
    symbols
}

/// Returns whether a function has the name; newer compilers append its generic parameters.
fn is_named(function: &str, name: &str) -> bool {
    let rest = function.strip_prefix(name);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::<"))
}

/// Returns a function's name without the hash that some demanglers leave at its end.
fn plain(name: &str) -> String {
    match name.rsplit_once("::h") {
        Some((front, hash)) if hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit()) => {
            front.to_owned()
        }
        _ => name.to_owned(),
    }
}

fn is_panicking(name: &str) -> bool {
    ["core::panicking::", "rust_begin_unwind", "panic_fmt"]
        .iter()
        .any(|part| name.contains(part))
}

/// Returns the crate of a function by its path: `a` of `<a::B as c::D>::e`. A function without a
/// path belongs to the compiler's run-time library, except for an image's own start.
pub fn crate_of(name: &str) -> &str {
    if name == "image_main" {
        return "redpoll_firmware";
    }
    let start = name
        .strip_prefix("<impl ")
        .unwrap_or(name)
        .trim_start_matches(['<', '&', '*', '[', '(']);
    let start = start.strip_prefix("mut ").unwrap_or(start);
    match start.split_once("::") {
        // The framing of a serial line counts as part of `uart`. It is in `wire` because another
        // crate uses it, too.
        Some(("redpoll_wire", rest)) if rest.starts_with("hdlc::") => "redpoll_uart",
        Some((name, _)) if !name.contains(' ') => name,
        _ => "compiler_builtins",
    }
}

/// Returns whether code of `core` that is inlined into this function counts for the function.
fn is_ours(name: &str) -> bool {
    name.starts_with("redpoll_")
        || ["tcp", "subset", "node", "bare", "pair", "rivals", "mesh"].contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_arguments_are_not_part_of_a_name() {
        assert!(is_named("a::serve", "a::serve"));
        assert!(is_named("a::serve::<b::Board>", "a::serve"));
        assert!(!is_named("a::served", "a::serve"));
        assert!(!is_named("a::serve::inner", "a::serve"));
    }

    #[test]
    fn a_function_belongs_to_the_crate_its_path_begins_with() {
        for (name, owner) in [
            ("redpoll_tcp::header::Header::encode", "redpoll_tcp"),
            (
                "<redpoll_tcp::seq::SeqNum as core::ops::Add<u32>>::add",
                "redpoll_tcp",
            ),
            ("<&mut [u8] as core::fmt::Debug>::fmt", "compiler_builtins"),
            ("<core::iter::Flatten<I> as X>::next", "core"),
            ("compiler_builtins::mem::memcpy", "compiler_builtins"),
            ("__aeabi_memcpy", "compiler_builtins"),
            ("tcp::use_all", "tcp"),
            ("image_main", "redpoll_firmware"),
        ] {
            assert_eq!(crate_of(name), owner, "{name}");
        }
    }

    #[test]
    fn hashes_are_cut_off_and_names_are_not() {
        assert_eq!(plain("a::b::h0123456789abcdef"), "a::b");
        assert_eq!(plain("a::b::hash"), "a::b::hash");
        assert_eq!(plain("main"), "main");
    }

    #[test]
    fn panics_are_known_by_name() {
        assert!(is_panicking("core::panicking::panic_bounds_check"));
        assert!(is_panicking("__rustc::rust_begin_unwind"));
        assert!(!is_panicking("redpoll_tcp::connection::input"));
    }
}
