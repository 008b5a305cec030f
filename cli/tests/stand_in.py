#!/usr/bin/env python3
"""Stands in for a function binary: a Lambda runtime that answers every event with what it sees."""

import json
import os
import urllib.request

api = "http://" + os.environ["AWS_LAMBDA_RUNTIME_API"] + "/2018-06-01/runtime/invocation/"
asked = 0

while True:
    with urllib.request.urlopen(api + "next") as event:
        request_id = event.headers["Lambda-Runtime-Aws-Request-Id"]
        content = json.load(event)
    print(json.dumps({"message": "event", "path": content.get("rawPath")}), flush=True)
    # One call to AWS, so that a test sees which way it goes.
    call = urllib.request.Request(
        os.environ["AWS_ENDPOINT_URL"] + "/",
        data=b"{}",
        headers={"X-Amz-Target": "DynamoDB_20120810.ListTables", "Content-Type": "application/x-amz-json-1.0"},
    )
    with urllib.request.urlopen(call) as tables:
        tables = json.load(tables)
    path = content.get("rawPath", "")
    seen = {
        "jobId": "email.send-1",
        "status": "accepted",
        "attempts": 0,
        "endpoint": os.environ["AWS_ENDPOINT_URL"],
        "home": os.environ.get("HOME"),
        "profile": os.environ.get("AWS_PROFILE"),
        "authorization": content.get("headers", {}).get("authorization"),
        "key": content.get("headers", {}).get("idempotency-key"),
        "body": content.get("body"),
        "path": path,
        "tables": tables["TableNames"],
    }
    status = 200
    if path.startswith("/v1/jobs/email.send-"):
        # Somebody who watches sees it go on.
        asked += 1
        seen["status"] = "running" if asked == 1 else "succeeded"
    elif path.endswith("unknown"):
        status, seen = 404, {"title": "Not Found", "detail": "there is no job `unknown`", "status": 404}
    answer = {"statusCode": status, "headers": {"content-type": "application/json"}, "body": json.dumps(seen)}
    done = urllib.request.Request(api + request_id + "/response", data=json.dumps(answer).encode())
    urllib.request.urlopen(done).close()
