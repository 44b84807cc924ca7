"""demo.py: marks from Python.

    echo '#include <pmclua_mark.h>' | cc -shared -fPIC -I../../core -x c -o libpmclua_mark.so -
    pmclua stat --marks -e page-faults,task-clock -- python3 demo.py
"""
import contextlib
import ctypes
import pathlib

library = ctypes.CDLL(str(pathlib.Path(__file__).with_name("libpmclua_mark.so")))


@contextlib.contextmanager
def mark(name):
    library.pmclua_mark_enter(name.encode())
    try:
        yield
    finally:
        library.pmclua_mark_leave(name.encode())


for size in (10_000, 100_000, 1_000_000):
    with mark("fill"):
        numbers = list(range(size))
    with mark("sum"):
        total = sum(numbers)
