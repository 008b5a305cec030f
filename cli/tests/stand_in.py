#!/usr/bin/env python3
"""Stands in for a function binary: a Lambda runtime that answers every event with what it sees."""

import json
import os
import urllib.request

api = "http://" + os.environ["AWS_LAMBDA_RUNTIME_API"] + "/2018-06-01/runtime/invocation/"

while True:
    with urllib.request.urlopen(api + "next") as event:
        request_id = event.headers["Lambda-Runtime-Aws-Request-Id"]
        content = json.load(event)
    # One call to AWS, so that a test sees which way it goes.
    call = urllib.request.Request(
        os.environ["AWS_ENDPOINT_URL"] + "/",
        data=b"{}",
        headers={"X-Amz-Target": "DynamoDB_20120810.ListTables", "Content-Type": "application/x-amz-json-1.0"},
    )
    with urllib.request.urlopen(call) as tables:
        tables = json.load(tables)
    seen = {
        "endpoint": os.environ["AWS_ENDPOINT_URL"],
        "home": os.environ.get("HOME"),
        "profile": os.environ.get("AWS_PROFILE"),
        "authorization": content.get("headers", {}).get("authorization"),
        "body": content.get("body"),
        "path": content.get("rawPath"),
        "tables": tables["TableNames"],
    }
    answer = {"statusCode": 200, "headers": {"content-type": "application/json"}, "body": json.dumps(seen)}
    done = urllib.request.Request(api + request_id + "/response", data=json.dumps(answer).encode())
    urllib.request.urlopen(done).close()
