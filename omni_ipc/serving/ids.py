"""Ids of outputs: texts that the table mints, and that sort themselves by the number in them.

7        output 7: of one request, or of a batch as a whole
7/2      the output of the second request of batch 7
2.7/2    the same, of the second incarnation of the engine
"""

from __future__ import annotations

import re
from typing import NamedTuple

from omni_ipc.errors import UsageError

_FORM = re.compile(r"(?:([1-9][0-9]*)\.)?([1-9][0-9]*)(?:/([1-9][0-9]*))?")


class OutputId(NamedTuple):
    """An id, taken apart.

    Args:
        epoch: the incarnation of the engine, from 1 on.
        number: rises with each call that computes outputs.
        place: of the request in its batch, from 1 on; 0 if the id stands for the whole.
    """

    epoch: int
    number: int
    place: int = 0

    @classmethod
    def from_text(cls, text: str) -> OutputId:
        """Take a text apart.

        Raises:
            UsageError: it is no id.
        """
        found = _FORM.fullmatch(text)
        if found is None:
            raise UsageError(f"'{text}' is no id of an output. Give one that the executor returned, such as 7 or 7/2.")
        epoch, number, place = found.groups()
        return cls(int(epoch or 1), int(number), int(place or 0))

    def __str__(self) -> str:
        epoch = f"{self.epoch}." if self.epoch > 1 else ""
        place = f"/{self.place}" if self.place else ""
        return f"{epoch}{self.number}{place}"


class Minted(NamedTuple):
    """The ids of what one call will compute.

    Args:
        output: what the worker announces.
        outputs: what consumers wait for, one a request.
    """

    output: str
    outputs: tuple[str, ...]

    @property
    def split(self) -> bool:
        """Tell whether the worker's output is a batch, to be split among its requests."""
        return self.outputs != (self.output,)

    @classmethod
    def single(cls, epoch: int, number: int) -> Minted:
        """Make the id of one request's output."""
        output = str(OutputId(epoch, number))
        return cls(output, (output,))

    @classmethod
    def batch(cls, epoch: int, number: int, requests: int) -> Minted:
        """Make the ids of a batch."""
        output = str(OutputId(epoch, number))
        return cls(output, parts_of(output, requests))


def parts_of(batch: str, requests: int) -> tuple[str, ...]:
    """Name the outputs of a batch, in the order of its requests."""
    return tuple([f"{batch}/{place}" for place in range(1, requests + 1)])


def whole_of(output: str) -> str:
    """Name the batch that an output belongs to; a single output is its own."""
    return output.partition("/")[0]
