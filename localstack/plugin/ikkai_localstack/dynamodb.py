"""DynamoDB is Amazon's DynamoDB Local, as a process of its own out of a folder that the user has; LocalStack would download one."""

import os
import sys

from localstack.services.dynamodb.server import DynamodbServer
from localstack.services.dynamodb.server import _log_listener as log_listener
from localstack.utils.run import ShellCommandThread

# The folder with `DynamoDBLocal.jar` and `DynamoDBLocal_lib`.
FOLDER_VARIABLE = "IKKAI_DYNAMODB_LOCAL"


def install():
    DynamodbServer.do_start_thread = start


def start(server):
    """Starts the database; should it end, LocalStack starts it again."""
    command = [sys.executable, "-m", "ikkai_localstack.dynamodb_local", os.environ[FOLDER_VARIABLE], str(server.port)]
    thread = ShellCommandThread(command, strip_color=True, log_listener=log_listener, auto_restart=True, name="dynamodb-local")
    thread.start()
    return thread
