"""Every error the project raises on purpose.

MtebDeError                    message says what, where, and what to do next
├── UsageError           (2)   bad input or usage: unknown config, malformed file, contradictory options
├── SourceError          (2)   an upstream could not be read
│   ├── SourceMissing    (2)   absent: offline and not cached, 404, no such file
│   ├── SourceSchema     (2)   a column is missing or has the wrong type
│   └── SourceChanged    (1)   bytes differ from what is pinned or locked
├── EncoderError         (2)   a model cannot be loaded, or returned vectors that are not usable
├── StorageError         (2)   a file or folder of ours cannot be written or read
│   └── Busy             (2)   another command holds the folder
├── RemoteError          (2)   the Hub refused, failed, or was not reachable
├── FindingsError        (1)   checks found errors, or a waiver no longer fires
└── Refused              (1)   a gate: stale parent, existing tag, missing receipt, licence, version
    └── Drift            (1)   a rebuild differs from what is locked or published

The number is the exit code of the command.
"""


class MtebDeError(Exception):
    """Base of the tree.

    Args:
        message: What is wrong and where (file, row, column, config).
        hint: What to do next; printed on a line of its own.
    """

    exit_code = 2

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(MtebDeError):
    """Bad input or usage."""


class SourceError(MtebDeError):
    """An upstream could not be read."""


class SourceMissing(SourceError):
    """A file of an upstream is not there."""


class SourceSchema(SourceError):
    """A column of an upstream is missing or has the wrong type."""


class SourceChanged(SourceError):
    """The bytes of an upstream differ from what is pinned or locked."""

    exit_code = 1


class EncoderError(MtebDeError):
    """A model cannot be loaded, or returned vectors that are not usable."""


class StorageError(MtebDeError):
    """A file or folder of ours cannot be written or read."""


class Busy(StorageError):
    """Another command holds the folder."""


class RemoteError(MtebDeError):
    """The Hub refused, failed, or was not reachable."""


class FindingsError(MtebDeError):
    """Checks found errors, or a waiver no longer fires."""

    exit_code = 1


class Refused(MtebDeError):
    """A gate is shut: stale parent, existing tag, missing receipt, licence, version."""

    exit_code = 1


class Drift(Refused):
    """A rebuild differs from what is locked or published."""
