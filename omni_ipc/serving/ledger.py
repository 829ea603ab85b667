"""Which outputs are open: minted, and neither delivered nor given up. All others of this engine are settled."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from omni_ipc.serving.ids import Minted, OutputId, whole_of


class Ledger:
    """Mints ids with rising numbers, and keeps the open ones alone; guarded by the lock of the table.

    Every number up to the last one that is not open is settled, for ever and without a trace: memory is as large as
    what is open, and does not grow with what was.
    """

    def __init__(self, epoch: int) -> None:
        self._epoch = epoch
        self._last = 0
        self._open: dict[str, dict[str, None]] = {}  # by the id of the whole: those of its outputs that are not settled

    def mint(self) -> Minted:
        """Make the id of one request's output."""
        self._last += 1
        return self._opened(Minted.single(self._epoch, self._last))

    def mint_batch(self, requests: int) -> Minted:
        """Make the ids of a batch's outputs."""
        self._last += 1
        return self._opened(Minted.batch(self._epoch, self._last, requests))

    def is_open(self, output: str) -> bool:
        """Tell whether an output can still be delivered."""
        return output in self._open.get(whole_of(output), ())

    def open_of(self, output: str) -> Sequence[str]:
        """Give what is open of an output: itself, the outputs of a whole batch, or nothing."""
        return (output,) if self.is_open(output) else tuple(self._open.get(output, ()))

    def settle(self, output: str) -> str | None:
        """Close an open output; gives the id of the whole if it was the last of it."""
        whole = whole_of(output)
        del self._open[whole][output]
        if self._open[whole]:
            return None
        del self._open[whole]
        return whole

    def settle_all_but(self, outputs: Collection[str]) -> None:
        """Close everything except these outputs."""
        kept = {
            whole: dict.fromkeys(each for each in opened if each in outputs) for whole, opened in self._open.items()
        }
        self._open = {whole: opened for whole, opened in kept.items() if opened}

    def why_not_open(self, output: str) -> str:
        """Say why an output cannot be asked for.

        Raises:
            UsageError: it is no id at all.
        """
        epoch, number, _ = OutputId.from_text(output)
        if (epoch, number) > (self._epoch, self._last):
            return f"There is no output '{output}' yet. Wait for ids that the executor has returned."
        return (
            f"Output '{output}' is settled: it was delivered, dropped, timed out, or has failed. "
            "Ask for each output once, and before that."
        )

    def _opened(self, minted: Minted) -> Minted:
        self._open[minted.output] = dict.fromkeys(minted.outputs)
        return minted
