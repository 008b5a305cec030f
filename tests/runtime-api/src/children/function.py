#!/usr/bin/env python3
"""A Lambda function without a runtime library, which does what its events say. For the tests of the fake runtime API."""

import http.client
import json
import os
import sys
import time

API = "/2018-06-01/runtime/"


def call(connection, method, path, body=None, headers=None):
    connection.request(method, API + path, body, headers or {})
    response = connection.getresponse()
    return response, response.read()


def answer(connection, request_id, headers, event):
    """Does one invocation; returns the status that the runtime API gave the answer."""
    do = event.get("do")
    if do == "exit":
        os._exit(event["code"])
    if do == "hang":
        print("hanging", flush=True)
        time.sleep(3600)
    if do == "log":
        for line in event["lines"]:
            print(line, flush=True)
    if do == "fail":
        report = json.dumps({"errorType": "Deliberate", "errorMessage": "as asked"})
        kind = {"Lambda-Runtime-Function-Error-Type": "Unhandled"}
        return call(connection, "POST", f"invocation/{request_id}/error", report, kind)[0].status
    if do == "answer for another":
        print(call(connection, "POST", "invocation/another/response", "{}")[0].status, flush=True)
    body = event["text"] if do == "text" else json.dumps({"event": event, "headers": headers, "environment": dict(os.environ)})
    status = call(connection, "POST", f"invocation/{request_id}/response", body)[0].status
    if do == "log late":
        print("after the answer", flush=True)
    return status


def main():
    mode = os.environ.get("MODE")
    print("starting", flush=True)
    print("to standard error", file=sys.stderr, flush=True)
    if mode == "exit in init":
        sys.exit(3)
    connection = http.client.HTTPConnection(os.environ["AWS_LAMBDA_RUNTIME_API"])
    if mode == "report in init":
        call(connection, "POST", "init/error", json.dumps({"errorType": "Config", "errorMessage": "no table"}))
        time.sleep(3600)
    while True:
        response, payload = call(connection, "GET", "invocation/next")
        headers = {name.lower(): value for name, value in response.getheaders()}
        answer(connection, headers["lambda-runtime-aws-request-id"], headers, json.loads(payload))


main()
