"""Answers come in on one thread; whoever asks for one holds a future. It knows nothing of omni_ipc."""

import threading
from concurrent.futures import Future


class Pump:
    def __init__(self):
        self._lock = threading.Lock()
        self._waiting = {}
        self._early = {}

    def ask(self, number):
        future = Future()
        with self._lock:
            if number in self._early:
                future.set_result(self._early.pop(number))
            else:
                self._waiting[number] = future
        return future

    def fetch(self, number, timeout):
        future = self.ask(number)
        try:
            return future.result(timeout)
        except TimeoutError:
            with self._lock:
                self._waiting.pop(number, None)
            return None

    def deliver(self, number, answer):
        with self._lock:
            future = self._waiting.pop(number, None)
        if future is not None:
            future.set_result(answer)
        else:
            self._early[number] = answer
