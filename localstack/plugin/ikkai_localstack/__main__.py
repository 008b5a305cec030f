"""Runs LocalStack for as long as the process that started it lives.

Standard input is a pipe that its starter never writes to. It closes when the starter ends, however it ends, SIGKILL included; then the
whole process group goes: LocalStack, its database and every function process. So nothing is ever left running.
"""

import os
import runpy
import signal
import threading

from ikkai_localstack import loopback


def end_with_starter():
    while os.read(0, 4096):
        pass
    os.killpg(0, signal.SIGKILL)


threading.Thread(target=end_with_starter, daemon=True).start()
loopback.install()

runpy.run_module("localstack.runtime.main", run_name="__main__")
