"""The Lambda runtime API for one process (https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html)."""

import contextlib
import queue
import socket
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PREFIX = "/2018-06-01/runtime"


@dataclass
class Invocation:
    """An event on its way through the function."""

    request_id: str
    event: bytes
    function_arn: str
    trace_id: str
    deadline_ms: int
    answer: bytes | None = None
    is_error: bool = False
    # Set when there is an answer, and when there will be none.
    done: threading.Event = field(default_factory=threading.Event)


class RuntimeApi(ThreadingHTTPServer):
    """Listens on a free port of 127.0.0.1."""

    daemon_threads = True

    def __init__(self, function_arn):
        super().__init__(("127.0.0.1", 0), Handler)
        self.function_arn = function_arn
        # Set when the function asks for its first event, says that it cannot start, or has ended.
        self.began = threading.Event()
        self.is_ready = False
        self.init_error = None
        self._offered = queue.SimpleQueue()
        self._current = None
        self._lock = threading.Lock()
        self._ended = False
        self._closed = False

    @property
    def address(self):
        return f"127.0.0.1:{self.server_address[1]}"

    def start(self):
        threading.Thread(target=self._serve, name="runtime-api", daemon=True).start()

    def close(self):
        self._closed = True
        self._offered.put(None)
        # Wakes the thread that waits for connections.
        with contextlib.suppress(OSError):
            socket.create_connection(self.server_address, timeout=1).close()

    def _serve(self):
        # Not `serve_forever`: it wakes up all the time to see whether it is to end.
        while not self._closed:
            self.handle_request()
        self.server_close()

    def offer(self, invocation):
        """Gives the function an event as soon as it asks for one."""
        with self._lock:
            self._current = invocation
            ended = self._ended
        if ended:
            invocation.done.set()
        else:
            self._offered.put(invocation)

    def process_ended(self):
        """Whoever waits for an answer waits no longer."""
        with self._lock:
            self._ended = True
            current = self._current
        self.began.set()
        if current:
            current.done.set()

    # -- The function's side ------------------------------------------------------------------------------------------------

    def next(self):
        self.is_ready = True
        self.began.set()
        return self._offered.get()

    def answered(self, request_id, answer, is_error):
        """Takes an answer; a late one to an event that is over is nobody's."""
        with self._lock:
            current = self._current
            if current is None or current.request_id != request_id or current.done.is_set():
                return False
            current.answer, current.is_error = answer, is_error
        current.done.set()
        return True

    def cannot_start(self, error):
        self.init_error = error
        self.began.set()

    def handle_error(self, request, client_address):
        # A function that was killed leaves its connection; its exit tells the story.
        pass


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body leave in one piece: in two, the second waits for the other side's delayed acknowledgement.
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_GET(self):
        if self.path != f"{PREFIX}/invocation/next":
            return self._answer(404, b"{}")
        invocation = self.server.next()
        if invocation is None:
            return self._answer(503, b"{}")
        headers = {
            "Lambda-Runtime-Aws-Request-Id": invocation.request_id,
            "Lambda-Runtime-Deadline-Ms": str(invocation.deadline_ms),
            "Lambda-Runtime-Invoked-Function-Arn": invocation.function_arn,
            "Lambda-Runtime-Trace-Id": invocation.trace_id,
        }
        return self._answer(200, invocation.event, headers)

    def do_POST(self):
        body = self._body()
        if self.path == f"{PREFIX}/init/error":
            self.server.cannot_start(body)
            return self._answer(202, b'{"status":"OK"}')
        words = self.path.removeprefix(f"{PREFIX}/invocation/").split("/")
        if len(words) != 2 or words[1] not in ("response", "error"):
            return self._answer(404, b"{}")
        if not self.server.answered(words[0], body, words[1] == "error"):
            return self._answer(400, b'{"errorType":"InvalidRequestID","errorMessage":"nobody waits for this answer"}')
        return self._answer(202, b'{"status":"OK"}')

    def _body(self):
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = bytearray()
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return bytes(body)

    def _answer(self, status, body, headers=()):
        self.send_response(status)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, format, *args):
        pass
