"""What can go wrong in `bundles`.

BundleError
└── DamagedBundle   the archive, its manifest or a file is not what it was; names the file
"""


class BundleError(Exception):
    """A bundle cannot be made or used."""


class DamagedBundle(BundleError):
    """`file` is the member that differs, is missing or does not belong."""

    def __init__(self, file: str, problem: str) -> None:
        super().__init__(f"{file}: {problem}")
        self.file = file
        self.problem = problem
