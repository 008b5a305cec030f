"""Runs Amazon's DynamoDB Local on 127.0.0.1.

    python -m ikkai_localstack.dynamodb_local FOLDER PORT

Started as its own program it listens on every interface and has no option against that; so its server is told the host before it starts.
"""

import os
import pathlib
import sys
import tempfile
import threading
import time

import jpype


def end_with(starter):
    """Should LocalStack end without its process group, the database ends all the same."""
    while os.getppid() == starter:
        time.sleep(0.5)
    os._exit(0)


def main(folder, port):
    folder = pathlib.Path(folder).absolute()
    # It leaves a file with an identity for Amazon's statistics where it is started, statistics or not.
    os.chdir(tempfile.gettempdir())
    jars = [folder / "DynamoDBLocal.jar", *sorted((folder / "DynamoDBLocal_lib").glob("*.jar"))]
    jpype.startJVM(
        f"-Djava.library.path={folder / 'DynamoDBLocal_lib'}",
        "-Djava.net.preferIPv4Stack=true",
        "-Xmx256m",
        classpath=[str(jar) for jar in jars],
    )
    runner = jpype.JClass("com.amazonaws.services.dynamodbv2.local.main.ServerRunner")
    # In memory, and nothing is told to Amazon.
    server = runner.createServerFromCommandLineArgs(["-inMemory", "-disableTelemetry", "-port", port])
    jetty = server.getClass().getDeclaredField("server")
    jetty.setAccessible(True)
    for connector in jetty.get(server).getConnectors():
        connector.setHost("127.0.0.1")
    server.start()
    server.join()


threading.Thread(target=end_with, args=(os.getppid(),), daemon=True).start()
main(*sys.argv[1:])
