"""Runs MiniStack for as long as the process that started it lives.

Standard input is a pipe that its starter never writes to. It closes when the starter ends, however it ends, SIGKILL included; then the
whole process group goes: MiniStack and every function process that it started. So nothing is ever left running.
"""

import os
import signal
import sys
import threading


def end_with_starter():
    while os.read(0, 4096):
        pass
    os.killpg(0, signal.SIGKILL)


threading.Thread(target=end_with_starter, daemon=True).start()

from ministack.app import main  # noqa: E402  (the guard comes first)

sys.argv = ["ministack"]
main()
