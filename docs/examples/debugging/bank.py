"""A bank that knows nothing of omni_ipc: it loses money, and then everybody waits for ever."""

import threading


class Account:
    def __init__(self, owner, balance=0):
        self.owner = owner
        self.balance = balance
        self.lock = threading.Lock()

    def deposit(self, amount):
        balance = self.balance
        with self.lock:
            self.balance = balance + amount


def transfer(amount, source, target):
    with source.lock:
        with target.lock:
            source.balance -= amount
            target.balance += amount


def two_deposits():
    account = Account("carol")
    clerks = [threading.Thread(target=account.deposit, args=(10,), name=name) for name in ("alice", "bob")]
    for clerk in clerks:
        clerk.start()
    for clerk in clerks:
        clerk.join()
    assert account.balance == 20, f"a deposit is lost: {account.balance}"


def two_transfers():
    dora, emil = Account("dora", 50), Account("emil", 50)
    clerks = [
        threading.Thread(target=transfer, args=(10, dora, emil), name="alice"),
        threading.Thread(target=transfer, args=(20, emil, dora), name="bob"),
    ]
    for clerk in clerks:
        clerk.start()
    for clerk in clerks:
        clerk.join()
    assert dora.balance + emil.balance == 100
