"""Runs LocalStack's SQS for as long as the process that started it lives.

Standard input is a pipe that its starter never writes to. It closes when the starter ends, however it ends.
"""

import os
import runpy
import threading


def end_with_starter():
    while os.read(0, 4096):
        pass
    os._exit(0)


threading.Thread(target=end_with_starter, daemon=True).start()

runpy.run_module("localstack.runtime.main", run_name="__main__")
