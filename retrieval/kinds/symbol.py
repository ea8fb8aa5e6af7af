"""Functions, methods and classes at the deployed commit, one document each (rows A1, C6)."""

from collections.abc import Iterator

from retrieval.kinds.base import Kind, Material
from retrieval.model import Document


def documents(material: Material) -> Iterator[Document]:
    for repo in sorted(material.symbols):
        for symbol in material.symbols[repo]:
            yield material.document(
                "symbol",
                (repo, symbol.symbol_id, symbol.start_line),
                title=symbol.symbol_id,
                text="\n".join(
                    part for part in (symbol.signature or symbol.qualname, symbol.doc, " ".join(symbol.calls)) if part
                ),
                service=material.service_of(repo, symbol.path),
                language=symbol.language,
                paths=(symbol.path,),
                symbols=(symbol.symbol_id,),
                keys={"symbol_id": symbol.symbol_id, "repo": repo},
                source=f"{symbol.path}:{symbol.start_line}",
                attributes={"repo": repo, "lines": [symbol.start_line, symbol.end_line], "symbol_kind": symbol.kind},
            )


KIND = Kind("symbol", documents)
