"""Money, seats and numbers: what is read, and what was decided on it, are two different moments."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, nullcontext

from tests.kernels.kernel import EXCEPTION, Kernel, together


class Account:
    """A balance and its lock."""

    def __init__(self, balance: int) -> None:
        self.balance = balance
        self.lock = threading.Lock()


def account() -> None:
    """Withdraw in two critical sections; a deposit between them is forgotten."""
    shared = Account(100)

    def deposit() -> None:
        with shared.lock:
            shared.balance += 50

    def withdraw() -> None:
        with shared.lock:
            balance = shared.balance
        with shared.lock:
            shared.balance = balance - 20

    together(deposit, withdraw)
    assert shared.balance == 130, f"the balance is {shared.balance}"


def account_fixed() -> None:
    """Withdraw in one."""
    shared = Account(100)

    def deposit() -> None:
        with shared.lock:
            shared.balance += 50

    def withdraw() -> None:
        with shared.lock:
            shared.balance -= 20

    together(deposit, withdraw)
    assert shared.balance == 130, f"the balance is {shared.balance}"


def bank() -> None:
    """Add up two accounts while money is on its way between them."""
    _transfer_and_audit(nullcontext())


def bank_fixed() -> None:
    """Stop transfers for as long as it is added up."""
    _transfer_and_audit(threading.Lock())


def _transfer_and_audit(bank_lock: AbstractContextManager[object]) -> None:
    one, other = Account(100), Account(100)

    def transfer() -> None:
        with bank_lock:
            one.balance -= 10
            other.balance += 10

    def audit() -> None:
        with bank_lock:
            total = one.balance + other.balance
        assert total == 200, f"there is {total} in the bank"

    together(transfer, audit)


class Flight:
    """A plane with one seat."""

    def __init__(self) -> None:
        self.seats = 1
        self.sold = 0
        self.lock = threading.Lock()


def airline() -> None:
    """Look whether there is a seat, and sell it later."""
    flight = Flight()

    def sell() -> None:
        if flight.seats > 0:
            with flight.lock:
                flight.seats -= 1
                flight.sold += 1

    together(sell, sell)
    assert flight.sold == 1, f"sold {flight.sold} seats of 1"


def airline_fixed() -> None:
    """Look and sell at once."""
    flight = Flight()

    def sell() -> None:
        with flight.lock:
            if flight.seats > 0:
                flight.seats -= 1
                flight.sold += 1

    together(sell, sell)
    assert flight.sold == 1, f"sold {flight.sold} seats of 1"


def lastzero() -> None:
    """Look for the last zero of an array that others fill; it is none any more when it is used."""
    _find_last_zero(nullcontext())


def lastzero_fixed() -> None:
    """Let nobody fill it meanwhile."""
    _find_last_zero(threading.Lock())


def _find_last_zero(lock: AbstractContextManager[object]) -> None:
    cells = [0, 0, 0]

    def find() -> None:
        with lock:
            place = len(cells) - 1
            while cells[place] != 0:
                place -= 1
            assert cells[place] == 0, f"cell {place} was the last zero"

    def fill(place: int) -> None:
        with lock:
            cells[place] = cells[place - 1] + 1

    together(find, lambda: fill(1), lambda: fill(2))


def token_ring() -> None:
    """Each takes the token of the one before, in whatever order they come."""
    tokens = [0, 0, 0]
    lock = threading.Lock()

    def take(place: int) -> None:
        with lock:
            tokens[place] = tokens[place - 1] + 1

    together(lambda: take(1), lambda: take(2))
    assert tokens[2] == tokens[1] + 1, f"the tokens are {tokens}"


def token_ring_fixed() -> None:
    """Each waits for the one before."""
    tokens = [0, 0, 0]
    ready = [threading.Event() for _ in tokens]
    ready[0].set()

    def take(place: int) -> None:
        ready[place - 1].wait()
        tokens[place] = tokens[place - 1] + 1
        ready[place].set()

    together(lambda: take(1), lambda: take(2))
    assert tokens[2] == tokens[1] + 1, f"the tokens are {tokens}"


def fsbench() -> None:
    """Two files, a lock each, look for a free block in the one map that both share."""
    _allocate([threading.Lock(), threading.Lock()], nullcontext())


def fsbench_fixed() -> None:
    """The map has a lock, too."""
    _allocate([threading.Lock(), threading.Lock()], threading.Lock())


def _allocate(file_locks: list[threading.Lock], map_lock: AbstractContextManager[object]) -> None:
    busy = [False, False]
    blocks: list[int | None] = [None, None]

    def allocate(file: int) -> None:
        with file_locks[file]:
            for block in range(len(busy)):
                with map_lock:
                    if not busy[block]:
                        busy[block] = True
                        blocks[file] = block
                        return

    together(lambda: allocate(0), lambda: allocate(1))
    assert blocks[0] != blocks[1], f"both files have block {blocks[0]}"


KERNELS = (
    Kernel(account, account_fixed, EXCEPTION, "the balance is 80", "SCTBench, CS.account_bad"),
    Kernel(bank, bank_fixed, EXCEPTION, "in the bank", "ConTest: Bank"),
    Kernel(airline, airline_fixed, EXCEPTION, "sold 2 seats of 1", "ConTest: Airline"),
    Kernel(lastzero, lastzero_fixed, EXCEPTION, "was the last zero", "SCTBench, CS.lastzero_bad"),
    Kernel(token_ring, token_ring_fixed, EXCEPTION, "the tokens are", "SCTBench, CS.token_ring_bad"),
    Kernel(fsbench, fsbench_fixed, EXCEPTION, "both files have block 0", "SCTBench, CS.fsbench_bad"),
)
