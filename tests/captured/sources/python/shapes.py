"""Every shape of definition that the symbol reader has to name."""

import os.path
from collections.abc import Callable as Call
from . import siblings
from ..shop.prices import total


def plain(a, b=1, *rest, flag: bool = False, **more) -> int:
    """Adds."""
    return total(a, b) + os.path.getsize(siblings.folder().name)


@decorated
@with_arguments("x")
async def awaited(one: int, /, two: "str | None" = None, *, three=3):
    import json

    return await json.loads(two).get(one)


class Outer(Base, metaclass=Meta):
    """Holds."""

    field: int = make()

    class Inner:
        @property
        def value(self) -> int:
            def nested(x):
                return self.deep(x)

            return nested(lambda y: y())

    def method(self) -> "Outer":
        super().method()
        return Outer()


if True:

    def conditional(): ...
