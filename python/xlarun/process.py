"""The program as a child process, which all strategies and environments of this process share.

A request is a numbered line on its stdin, and the answer a line with that number on its stdout. Arrays are in memory
that both map. The child ends when its stdin does, so also when Python is killed. It is in a session of its own: Ctrl-C
does not reach it.
"""
import atexit
import contextlib
import json
import mmap
import os
import select
import subprocess
import sys
import threading
import time
import weakref

import numpy as np

from .program import Error, program

# The pipe is polled for an answer for SPIN seconds before this process sleeps, since a core that sleeps wakes tens of
# microseconds late. Where that brings none, because the request takes longer or other programs need the core, it is not
# polled for PAUSE seconds.
SPIN, PAUSE = 300e-6, 10e-3


class Child:
    """A running program."""

    def __init__(self):
        path = program()
        try:
            self.process = subprocess.Popen([path, "python"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0,
                                            start_new_session=True)
        except OSError as e:
            raise Error(f"the program {path} does not start: {e.strerror}") from None
        self.pid, self.to, self.answers = os.getpid(), self.process.stdin.fileno(), self.process.stdout.fileno()
        self.lock, self.rest, self.number, self.ended = threading.Lock(), b"", 0, None
        self.poll, self.pause = select.poll(), 0  # no polling before
        self.poll.register(self.answers, select.POLLIN)
        self.unwanted = []  # numbers of objects that Python has let go of, since a finalizer must not wait for the lock

    def request(self, line):
        """Sends a line, and returns the line of its answer."""
        if self.pid != os.getpid():
            raise Error("this object belongs to the process that was forked: make it anew after a fork", 2)
        with self.lock:
            if self.ended is None:
                try:
                    self.number += 1
                    number = b"%d " % self.number
                    self.write(number + line)
                    while True:
                        answer = self.read()
                        if answer.startswith(number):
                            return answer[len(number):]
                        # else it is one that an exception such as Ctrl-C did not wait for
                except OSError:
                    self.ended = self.process.wait()
        raise Error(f"the program ended with status {self.ended} while Python used it: make the object anew")

    def write(self, line):
        sent = 0
        try:
            while sent < len(line):
                sent += os.write(self.to, line[sent:])
        except BaseException:
            if sent:  # the program has a part of a line
                self.process.kill()
            raise

    def read(self):
        while b"\n" not in self.rest:
            self.spin()
            part = os.read(self.answers, 1 << 16)
            if not part:
                raise OSError
            self.rest += part
        line, self.rest = self.rest.split(b"\n", 1)
        return line

    def spin(self):
        """Returns when there is an answer, or when there has been none for a while."""
        start = time.perf_counter()
        if start < self.pause:
            return
        while not self.poll.poll(0):
            if time.perf_counter() - start > SPIN:
                self.pause = time.perf_counter() + PAUSE
                return

    def call(self, number, request, argument=""):
        """Makes a request of an object, and returns what it answers."""
        self.free()
        line = self.request(b"%d %s %s\n" % (number, request.encode(), str(argument).encode()))
        if line == b"null":
            return None
        answer = json.loads(line)
        if isinstance(answer, dict) and "message" in answer and "status" in answer:
            raise Error(answer["message"], answer["status"], answer["error"])
        return answer

    def free(self):
        """Frees the objects that Python has let go of."""
        while True:
            try:
                number = self.unwanted.pop()
            except IndexError:  # also where another thread was faster
                return
            self.request(b"0 close %d\n" % number)

    def close(self):
        """Ends the program, or in a forked process only lets go of it."""
        for pipe in (self.process.stdin, self.process.stdout):
            pipe.close()
        if self.pid == os.getpid():
            try:
                self.ended = self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.ended = self.process.wait()


_child, _making = None, threading.Lock()


def child():
    """The running program; starts it if none runs."""
    global _child
    with _making:
        if _child is None or _child.pid != os.getpid() or _child.ended is not None or \
                _child.process.poll() is not None:
            _child = Child()
        return _child


@atexit.register
def _end():
    if _child is not None and _child.pid == os.getpid():
        _child.close()


def _forked():
    # A fork must not keep the program alive, nor answer for it.
    global _child, _making
    _making = threading.Lock()
    if _child is not None:
        old, _child = _child, None
        old.close()


os.register_at_fork(after_in_child=_forked)


class Object:
    """Something that lives in the program, with its shared memory."""

    def __init__(self, kind, **arguments):
        self.child = child()
        self.description = d = self.child.call(0, kind, json.dumps(arguments, allow_nan=False))
        self.number, self.fields = d["object"], {f["name"]: f for f in d["fields"]}
        # A slot is an array, and all arrays in it refer to it: its references say whether anybody uses them. What is
        # written into the last slot is copied.
        self.slots, self.places = self.mapped(d), None
        self.unused, self.slot = sys.getrefcount(self.slots[0]), 0
        self.let_go = weakref.finalize(self, self.child.unwanted.append, self.number)

    def mapped(self, d):
        """The slots of a memory."""
        file = os.open(f"/proc/{self.child.process.pid}/fd/{d['file']}", os.O_RDWR)
        try:
            memory = mmap.mmap(file, d["bytes"])
        finally:
            os.close(file)
        return [np.frombuffer(memory, np.uint8, d["stride"], d["stride"] * i) for i in range(d["slots"])]

    def shown(self, request):
        """The fields of a memory of its own, which a request fills anew each time."""
        d = self.call(request)
        if self.places is None:
            self.places, = self.mapped(d)
        return {f["name"]: np.ndarray(f["shape"], f["dtype"], self.places, f["offset"]) for f in d["fields"]}

    def close(self):
        """Frees the object: at once, or with the next request while a request is made. Gymnasium closes in finalizers,
        which must not wait for a request that they interrupt."""
        self.let_go()
        if not self.child.lock.locked():
            with contextlib.suppress(Error):  # of a program that has ended, or before a fork
                self.child.free()

    def __reduce__(self):
        raise TypeError("a strategy or an environment lives in the program and cannot be pickled: pickle its arrays, "
                        "such as best, mean and archive of a strategy")

    def take(self):
        """Chooses a slot whose arrays nobody uses, or else the last one."""
        last = len(self.slots) - 1
        for i in range(last):
            slot = (self.slot + 1 + i) % last
            if sys.getrefcount(self.slots[slot]) == self.unused:
                break
        else:
            slot = last
        self.slot = slot

    def input(self, name):
        """A field of the slot, to be written."""
        f = self.fields[name]
        return np.ndarray(f["shape"], f["dtype"], self.slots[self.slot], f["offset"])

    def output(self, name):
        """A field of the slot, which stays as it is while somebody has it."""
        array = self.input(name)
        return array.copy() if self.slot == len(self.slots) - 1 else array

    def call(self, request):
        """Makes a request about the slot."""
        return self.child.call(self.number, request, self.slot)


def plain(name, value):
    """The value of a keyword argument as JSON has it. Error: it has none, such as of NaN."""
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(name, item) for item in value]
    if not isinstance(value, (str, int, float)) or isinstance(value, float) and not np.isfinite(value):
        raise Error(f"{name}: got {value!r}, want a finite number, a text or a list of them: others are no plain "
                    "values", 2)
    return value
