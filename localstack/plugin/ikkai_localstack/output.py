"""What a function's process writes."""

import os
import select
import sys
import threading


class Output:
    """Collects a pipe's lines, and passes them on to the engine's log as they come."""

    def __init__(self, pipe):
        self._pipe = pipe
        self._lock = threading.Lock()
        self._collected = bytearray()
        self._ended = False
        self._follower = threading.Thread(target=self._follow, name="output", daemon=True)
        self._follower.start()

    def take(self):
        """All that was written since the last call. What a function wrote before it answered is in it: it is in the pipe by then."""
        with self._lock:
            self._read_what_is_there()
            text, self._collected = bytes(self._collected), bytearray()
        return text.decode(errors="replace")

    def close(self):
        """The process has ended. What it wrote is read; a child that it left behind may still hold the pipe."""
        self._follower.join(1)
        if not self._follower.is_alive():
            self._pipe.close()

    def _follow(self):
        # A pipe that nobody reads fills up, and its process stands still.
        while not self._ended:
            self._is_readable()
            with self._lock:
                self._read_what_is_there()

    def _is_readable(self, milliseconds=None):
        """Waits for output, for ever unless told how long."""
        # Not `select`: it takes no file of a number beyond 1023, and an engine with many functions has more.
        poll = select.poll()
        poll.register(self._pipe, select.POLLIN)
        return bool(poll.poll(milliseconds))

    def _read_what_is_there(self):
        while not self._ended and self._is_readable(0):
            piece = os.read(self._pipe.fileno(), 65536)
            self._ended = not piece
            self._collected += piece
            sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()
