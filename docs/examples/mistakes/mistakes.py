"""Scenarios that are not good ones, and what is said of them."""

import asyncio
import random
import threading
import time


def start(*functions):
    threads = [threading.Thread(target=function, name=function.__name__) for function in functions]
    for thread in threads:
        thread.start()
    return threads


def no_threads():
    assert sorted([2, 1]) == [1, 2]


def asks_for_more(pump, tmp_path):
    assert pump.directory == tmp_path


def chance():
    def work():
        time.sleep(random.random())

    for thread in start(work):
        thread.join()


async def coroutine():
    await asyncio.sleep(1)


def waits_in_vain():
    ready = threading.Event()

    def work():
        ready.wait()

    start(work)


def polls():
    done = []

    def work():
        while not done:
            time.sleep(0.1)

    for thread in start(work):
        thread.join()


def asserts_nothing():
    total = [0]

    def add():
        total[0] += 1

    for thread in start(add, add):
        thread.join()
    return total[0]
