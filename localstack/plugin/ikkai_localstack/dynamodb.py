"""DynamoDB is Amazon's DynamoDB Local, as a process of its own out of a folder that the user has; LocalStack would download one."""

import os
import subprocess
import sys

from localstack.services.dynamodb.server import DynamodbServer
from localstack.utils.threads import FuncThread

# The folder with `DynamoDBLocal.jar` and `DynamoDBLocal_lib`.
FOLDER_VARIABLE = "IKKAI_DYNAMODB_LOCAL"


def install():
    DynamodbServer.do_start_thread = start


def start(server):
    """Starts the database in LocalStack's own process group, which ends as one. LocalStack itself would give it a session of its own."""
    command = [sys.executable, "-m", "ikkai_localstack.dynamodb_local", os.environ[FOLDER_VARIABLE], str(server.port)]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    thread = FuncThread(lambda _: process.wait(), on_stop=lambda _: process.kill(), name="dynamodb-local")
    # LocalStack looks for it there.
    thread.process = process
    thread.start()
    return thread
