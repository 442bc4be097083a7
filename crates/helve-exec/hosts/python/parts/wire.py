"""How messages travel: four bytes of length, then JSON, on descriptors 3 and 4."""

import json
import os
import struct

from .encode import MAX_MESSAGE, utf8

OUT = 3
IN = 4

# Taken now: a tool may put something else there.
_read = os.read
_write = os.write
_fstat = os.fstat
_exit = os._exit
_getpid = os.getpid
_pack = struct.Struct(">I").pack
_unpack = struct.Struct(">I").unpack_from
_parse = json.JSONDecoder().raw_decode


def say(text):
    """A line for the log of the worker."""
    try:
        _write(2, f"helve: {text}\n".encode("utf-8", "backslashreplace"))
    except OSError:
        pass


def end(code, why=None):
    """Ends the worker at once."""
    if why:
        say(why)
    _exit(code)


def _identity():
    seen = [_fstat(fd) for fd in (IN, OUT)]
    return [(s.st_dev, s.st_ino) for s in seen]


class Line:
    """The line to Helve. Whoever waits for a message reads for all."""

    def __init__(self):
        self.buffer = bytearray()
        # No process that a tool starts gets them.
        os.set_inheritable(IN, False)
        os.set_inheritable(OUT, False)
        self.ours = _identity()
        self.pid = _getpid()

    def check(self):
        """Ends the worker if a tool has closed the line or put another file there.

        A copy of the process, made by a `fork` that came back from the tool,
        ends too: only one of the two may answer.
        """
        try:
            now = _identity()
        except OSError:
            now = None
        if now != self.ours:
            end(1, "a tool closed descriptor 3 or 4, which Helve talks over")
        if _getpid() != self.pid:
            end(0)

    def send(self, text):
        """Sends one message, given as JSON. Returns its size if it is too long."""
        body = utf8(text)
        if len(body) > MAX_MESSAGE:
            return len(body)
        rest = memoryview(_pack(len(body)) + body)
        try:
            while rest:
                rest = rest[_write(OUT, rest) :]
        except OSError as error:
            end(1, f"cannot write to Helve: {error}")
        return 0

    def fill(self):
        """Reads what is there, or waits until something is."""
        try:
            chunk = _read(IN, 1 << 16)
        except OSError as error:
            end(1, f"cannot read from Helve: {error}")
        if not chunk:
            end(0)
        self.buffer += chunk

    def next(self):
        """The next message, if all of it has come."""
        buffer = self.buffer
        if len(buffer) < 4:
            return None
        size = _unpack(buffer)[0] + 4
        if len(buffer) < size:
            return None
        text = buffer[4:size].decode("utf-8")
        del buffer[:size]
        try:
            return _parse(text)[0]
        except ValueError as error:
            return end(1, f"Helve sent what is not JSON: {error}")

    def wait(self):
        """The next message."""
        while True:
            message = self.next()
            if message is not None:
                return message
            self.fill()
