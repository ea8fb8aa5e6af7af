"""Unit vectors in memory and the exact cosine against them.

Rows are float32 in blocks that are allocated when first written, so that growing never copies.
"""

import numpy as np
from numpy.typing import NDArray

from retrieval.index.vectors import DECIMALS, F32, unpacked

Rows = NDArray[np.int32]

_BLOCK = 4096  # rows; 6 MB at 384 dimensions


class Vectors:
    def __init__(self) -> None:
        self.dimensions = 0
        self._blocks: dict[int, F32] = {}

    def write(self, rows: list[int], vectors: list[bytes]) -> None:
        """Set rows from their float16 bytes. All vectors of a store have one length."""
        if not rows:
            return
        matrix = unpacked(vectors)
        if not self.dimensions:
            self.dimensions = matrix.shape[1]
        places = np.asarray(rows)
        numbers = places // _BLOCK
        for number in np.unique(numbers).tolist():
            chosen = np.flatnonzero(numbers == number)
            block = self._blocks.get(number)
            if block is None:
                block = self._blocks[number] = np.zeros((_BLOCK, self.dimensions), dtype=np.float32)
            block[places[chosen] % _BLOCK] = matrix[chosen]

    def cosines(self, rows: Rows, query: F32) -> NDArray[np.float64]:
        """The cosine of each row with a unit vector, exact, rounded to six decimals. Rows may repeat.

        `vecdot` and not a matrix product: BLAS would share one out to threads that spin, which under load costs four
        times the processor time and, for the slowest twentieth of the queries, ten times the wait.
        """
        if not len(rows):
            return np.zeros(0, dtype=np.float64)
        order = np.argsort(rows, kind="stable")
        ascending = rows[order]
        numbers = ascending // _BLOCK
        first = np.flatnonzero(np.diff(numbers, prepend=-1))
        result = np.zeros(len(rows), dtype=np.float64)
        for low, high in zip(first, [*first[1:], len(rows)], strict=True):
            block = self._blocks[int(numbers[low])]
            inside = ascending[low:high] % _BLOCK
            whole = 4 * len(inside) > _BLOCK
            result[order[low:high]] = np.vecdot(block, query)[inside] if whole else np.vecdot(block[inside], query)
        return np.round(result, DECIMALS)
