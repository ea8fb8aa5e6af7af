"""BM25 exactly as Lucene's `BM25Similarity` computes it, so that every engine ranks as Elasticsearch does.

    sum over the distinct query terms of  idf * tf / (tf + k1 * (1 - b + b * norm / average))
    idf = ln(1 + (N - df + 0.5) / (df + 0.5))

`norm` is the document's number of terms after Lucene's one-byte rounding (`SmallFloat.intToByte4`: exact below 40).
N, df and the average are those of all documents that exist, whoever may see them: filters narrow what is returned, not
what a term is worth.
"""

import math
from collections.abc import Sequence

K1, B = 1.2, 0.75
MAX_TERMS = 512  # distinct terms of one query; a longer text is cut, so that no alert costs more than that
MAX_COUNT = 255  # a term's count in a document; with k1 1.2 its weight has long reached its bound there

_FREE = 24  # 255 - longToInt4(2**31 - 1), the lengths that a byte holds as they are


def rounded_length(length: int) -> int:
    """A length after Lucene's `intToByte4` and `byte4ToInt`: a 4-bit mantissa, rounded down."""
    if length < _FREE:
        return length
    rest = length - _FREE
    shift = max(rest.bit_length() - 4, 0)
    return _FREE + (rest >> shift << shift)


def query_terms(terms: Sequence[str]) -> list[str]:
    """The distinct terms that are asked for, sorted, so that sums come out the same to the last bit."""
    return sorted(list(dict.fromkeys(terms))[:MAX_TERMS])


def idf(documents: int, frequency: int) -> float:
    return math.log(1 + (documents - frequency + 0.5) / (frequency + 0.5))
