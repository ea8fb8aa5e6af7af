"""Names and origins of Rust frames."""

import re

# The standard library under its build path, the registry, git checkouts and vendored crates, the C library.
_FOREIGN = re.compile(
    r"/rustc/[0-9a-f]{7,40}/|(?:^|/)library/(?:std|core|alloc)/src/|/lib/rustlib/src/|/\.?cargo/(?:registry|git)/"
    r"|(?:^|/)registry/src/|(?:^|/)vendor/|\.(?:c|S|s)$|(?:^|/)csu/"
)
# Where no file is printed the crate decides: the standard library's, the symbols of the runtime and the C library, and
# the crates that are under nearly every service.
_CRATES = frozenset(
    """
    std core alloc proc_macro test panic_unwind __rustc rust_begin_unwind backtrace gimli addr2line
    tokio mio futures futures_util futures_core hyper hyper_util tower tower_http axum axum_core actix_web actix_http
    actix_rt actix_server rocket warp tonic h2 http reqwest serde serde_json tracing tracing_core tracing_subscriber log
    rayon rayon_core crossbeam parking_lot diesel sqlx sqlx_core
    main _start __libc_start_main __libc_start_call_main __libc_start_main_impl start_thread clone clone3 _main
    """.split()  # noqa: SIM905 - one line a kind is easier to read and to extend
)
_HASH = re.compile(r"::h[0-9a-f]{16}$|\[[0-9a-f]{8,20}\]")
_CLOSURE = re.compile(r"::\{\{?(?:closure|impl|vtable\.shim|constant)[^}]*\}?\}|::_\{\{closure\}\}")


def in_app(file: str, function: str) -> bool:
    """False for the standard library, crates out of the registry, and the C library's start of a thread."""
    if file:
        return not _FOREIGN.search(file.replace("\\", "/"))
    crate = re.match(r"[<&(*\s]*(?:dyn |mut |const )*(\w+)", function)
    return bool(crate) and "::" in function and crate is not None and crate[1] not in _CRATES


def plain(printed: str) -> str:
    """A printed name without hashes and closures: `shop::cart::Cart<T>::get`."""
    return _CLOSURE.sub("", _HASH.sub("", printed.strip()))


def qualname(name: str) -> str:
    """`<shop::cart::Item as shop::cart::Priced>::price` -> `Item.price`, `shop::cart::total` -> `total`: types and
    functions without their modules and type parameters, as the symbols are named."""
    parts = _segments(name)
    kept = [part for part in parts[:-1] if part[:1].isupper()]
    return ".".join([*kept[-1:], parts[-1]]) if parts else name


def _segments(name: str) -> list[str]:
    """The path of a name; a type in `<…>` at its start counts by its own path, other type parameters are left out."""
    head, rest = [], name
    if name.startswith("<"):
        inside, rest = _bracket(name)
        head = _plain_segments(_subject(inside).lstrip("&*").removeprefix("mut ").removeprefix("dyn "))
    return [*head, *_plain_segments(rest)]


def _subject(inside: str) -> str:
    """`T` of `T as Trait`, whatever stands in the brackets of either."""
    depth = 0
    for at, letter in enumerate(inside):
        depth += {"<": 1, ">": -1}.get(letter, 0)
        if not depth and inside.startswith(" as ", at):
            return inside[:at]
    return inside


def _bracket(name: str) -> tuple[str, str]:
    depth = 0
    for at, letter in enumerate(name):
        depth += {"<": 1, ">": -1}.get(letter, 0)
        if not depth:
            return name[1:at], name[at + 1 :]
    return name[1:], ""


def _plain_segments(path: str) -> list[str]:
    depth, out = 0, []
    for letter in path:
        if letter == "<":
            depth += 1
        elif letter == ">":
            depth -= depth > 0
        elif not depth:
            out.append(letter)
    return [part for part in "".join(out).split("::") if re.fullmatch(r"\w+", part)]
