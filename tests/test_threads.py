from __future__ import annotations

import threading

import pytest

from headcount._support import execution as _threads
from headcount._support.execution import each_range, results_in_order


@pytest.mark.parametrize("threads", ["1", "3"])
def test_results_come_in_the_order_of_the_tasks(monkeypatch, threads):
    monkeypatch.setenv("HEADCOUNT_NUM_THREADS", threads)
    taken: list[int] = []
    first_may_end = threading.Event()

    def task(number):
        if number == 0 and threads != "1":
            assert first_may_end.wait(60)  # until another task has run
        first_may_end.set()
        return number, threading.get_ident()

    def tasks():
        for number in range(20):
            taken.append(threading.get_ident())
            yield lambda number=number: task(number)

    found = list(results_in_order(tasks()))
    assert [number for number, _ in found] == list(range(20))
    assert set(taken) == {threading.get_ident()}
    assert (threading.get_ident() in {thread for _, thread in found}) == (threads == "1")


def test_few_tasks_are_taken_ahead(monkeypatch):
    monkeypatch.setenv("HEADCOUNT_NUM_THREADS", "2")
    taken: list[int] = []

    def tasks():
        for number in range(100):
            taken.append(number)
            yield lambda number=number: number

    for number in results_in_order(tasks()):
        assert len(taken) <= number + 3


def test_the_error_of_a_task_is_raised_in_its_place(monkeypatch):
    monkeypatch.setenv("HEADCOUNT_NUM_THREADS", "2")
    results = results_in_order(lambda number=number: 1 // (3 - number) for number in range(9))
    assert [next(results) for _ in range(3)] == [0, 0, 1]
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_loops_inside_a_task_use_its_thread_alone(monkeypatch):
    monkeypatch.setenv("HEADCOUNT_NUM_THREADS", "2")

    def threads_of_a_loop():
        used: list[int] = []
        each_range(lambda start, stop: used.append(threading.get_ident()), 1000)
        return used == [threading.get_ident()]

    assert not threads_of_a_loop()
    assert all(results_in_order([threads_of_a_loop] * 5))
    assert not threads_of_a_loop()


def test_there_is_a_limit_of_tasks_at_once(monkeypatch):
    monkeypatch.setenv("HEADCOUNT_NUM_THREADS", "50")
    monkeypatch.setattr(_threads, "_MOST_TASKS", 2)
    threads = set(results_in_order([threading.get_ident] * 50))
    assert len(threads) <= 2
