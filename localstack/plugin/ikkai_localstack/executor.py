"""Runs a function's `bootstrap` as a process of this machine, where LocalStack would start a container.

One executor is one execution environment of AWS Lambda: one process at a time, one invocation at a time. LocalStack starts as many of
them as there are invocations at once, uses idle ones again, and stops them when nobody has come for a while.
"""

import json
import os
import pathlib
import subprocess
import threading
import time
from dataclasses import dataclass, field

from localstack.services.lambda_.invocation.executor_endpoint import StatusErrorException
from localstack.services.lambda_.invocation.lambda_models import InvocationResult
from localstack.services.lambda_.invocation.runtime_executor import RuntimeExecutor

from ikkai_localstack.output import Output
from ikkai_localstack.runtime_api import Invocation, RuntimeApi

# Of this process's own environment a function gets these and no more.
INHERITED = ("HOME", "LANG", "PATH", "RUST_BACKTRACE", "TMPDIR")

# Where functions call AWS: the fault proxy that stands before LocalStack.
ENDPOINT_VARIABLE = "IKKAI_FUNCTION_ENDPOINT"

# How long AWS lets a function start (https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html); a busy machine
# needs more than Amazon's.
STARTED_WITHIN_SECONDS = 30


@dataclass
class Sandbox:
    """A running process with the runtime API that it alone talks to."""

    process: subprocess.Popen
    api: RuntimeApi
    output: Output
    exited: threading.Event = field(default_factory=threading.Event)

    @classmethod
    def start(cls, bootstrap, env, arn):
        api = RuntimeApi(arn)
        api.start()
        try:
            process = subprocess.Popen(
                [str(bootstrap)],
                cwd=bootstrap.parent,
                env=env | {"AWS_LAMBDA_RUNTIME_API": api.address},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
        except OSError as error:
            api.close()
            raise StatusErrorException(f"{bootstrap} cannot be started", failure("Runtime.InvalidEntrypoint", str(error))) from error
        sandbox = cls(process, api, Output(process.stdout))
        threading.Thread(target=sandbox._wait, name=f"exit-of-{process.pid}", daemon=True).start()
        return sandbox

    def _wait(self):
        self.process.wait()
        self.exited.set()
        self.api.process_ended()

    def is_alive(self):
        # Asks the system: the thread that waits may not have been told yet.
        return self.process.poll() is None

    def end(self):
        self.process.kill()
        self.exited.wait()
        self.output.close()
        self.api.close()

    def how_it_ended(self):
        self.exited.wait()
        code = self.process.returncode
        return f"signal: {-code}" if code < 0 else f"exit status {code}"


class NativeExecutor(RuntimeExecutor):
    """One execution environment."""

    def __init__(self, id, function_version):
        super().__init__(id, function_version)
        self._sandbox = None
        self._env = None
        self._stopped = False
        self._lock = threading.Lock()

    # -- What LocalStack asks for -------------------------------------------------------------------------------------------

    @classmethod
    def prepare_version(cls, function_version):
        if function_version.config.code:
            function_version.config.code.prepare_for_execution()

    @classmethod
    def cleanup_version(cls, function_version):
        # LocalStack removes the unpacked code itself.
        pass

    def start(self, env_vars):
        self._env = self._environment(env_vars)
        self._begin()

    def stop(self):
        with self._lock:
            self._stopped = True
            sandbox, self._sandbox = self._sandbox, None
        if sandbox:
            sandbox.end()

    def invoke(self, payload):
        request_id = payload["invoke-id"]
        sandbox = self._sandbox
        if sandbox is None or not sandbox.is_alive():
            # The last process has crashed, was killed or ran out of time. AWS starts the next one within the next invocation, too.
            try:
                sandbox = self._begin()
            except StatusErrorException as error:
                return InvocationResult(request_id, error.payload, is_error=True, logs=self._last_words)
        began = time.monotonic()
        timeout = self.function_version.config.timeout
        deadline_ms = int((time.time() + timeout) * 1000)
        sandbox.output.take()
        invocation = Invocation(request_id, payload["payload"].encode(), payload["invoked-function-arn"], payload["trace-id"], deadline_ms)
        sandbox.api.offer(invocation)
        answered = invocation.done.wait(timeout)
        if answered and invocation.answer is not None:
            answer, is_error = invocation.answer, invocation.is_error
        else:
            answer, is_error = self._lost(sandbox, request_id, answered, timeout), True
        logs = self._log(request_id, sandbox, (time.monotonic() - began) * 1000)
        return InvocationResult(request_id, answer, is_error=is_error, logs=logs)

    def get_logs(self):
        return self._last_words

    def get_address(self):
        return "127.0.0.1"

    def get_endpoint_from_executor(self):
        return "127.0.0.1"

    def get_runtime_endpoint(self):
        return ""

    # -- How it is done -----------------------------------------------------------------------------------------------------

    _last_words = ""

    def _environment(self, env_vars):
        inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
        given = {name: str(value) for name, value in env_vars.items() if value is not None}
        code = str(self._code())
        return inherited | given | {"AWS_ENDPOINT_URL": os.environ[ENDPOINT_VARIABLE], "LAMBDA_TASK_ROOT": code}

    def _code(self):
        return pathlib.Path(self.function_version.config.code.get_unzipped_code_location())

    def _begin(self):
        """Starts a process and waits until it asks for its first invocation."""
        with self._lock:
            if self._sandbox:
                self._sandbox.end()
                self._sandbox = None
            if self._stopped:
                raise StatusErrorException("the environment was stopped", failure("Runtime.ExitError", "stopped"))
            sandbox = Sandbox.start(self._code() / "bootstrap", self._env, self.function_version.id.unqualified_arn())
            self._sandbox = sandbox
        sandbox.api.began.wait(STARTED_WITHIN_SECONDS)
        if sandbox.api.is_ready:
            return sandbox
        if sandbox.api.init_error is not None:
            problem = sandbox.api.init_error
        elif sandbox.is_alive():
            problem = failure("Sandbox.Timedout", f"the function did not start within {STARTED_WITHIN_SECONDS} seconds")
        else:
            problem = failure("Runtime.ExitError", f"Runtime exited with error: {sandbox.how_it_ended()}")
        self._last_words = sandbox.output.take()
        sandbox.end()
        raise StatusErrorException("the function did not start", problem)

    def _lost(self, sandbox, request_id, answered, timeout):
        """What AWS says of an invocation without an answer (https://docs.aws.amazon.com/lambda/latest/dg/troubleshooting-invocation.html)."""
        if answered:
            return failure("Runtime.ExitError", f"RequestId: {request_id} Error: Runtime exited with error: {sandbox.how_it_ended()}")
        sandbox.process.kill()
        sandbox.exited.wait()
        return failure("Sandbox.Timedout", f"RequestId: {request_id} Error: Task timed out after {timeout:.2f} seconds")

    def _log(self, request_id, sandbox, took_ms):
        memory = self.function_version.config.memory_size
        version = self.function_version.id.qualifier
        return (
            f"START RequestId: {request_id} Version: {version}\n"
            f"{sandbox.output.take()}"
            f"END RequestId: {request_id}\n"
            f"REPORT RequestId: {request_id}\tDuration: {took_ms:.2f} ms\tMemory Size: {memory} MB\n"
        )


def failure(error_type, message):
    return json.dumps({"errorType": error_type, "errorMessage": message}).encode()
