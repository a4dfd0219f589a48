#!/usr/bin/env -S python3 -S
"""A Lambda runtime that does as its event says."""

import json, os, sys, time, urllib.request

base = f"http://{os.environ['AWS_LAMBDA_RUNTIME_API']}/2018-06-01/runtime/invocation"
print("started", os.environ["AWS_LAMBDA_FUNCTION_NAME"], os.environ.get("HOME"), flush=True)
while True:
    with urllib.request.urlopen(f"{base}/next") as event:
        id, deadline_ms = event.headers["Lambda-Runtime-Aws-Request-Id"], int(event.headers["Lambda-Runtime-Deadline-Ms"])
        order = json.load(event)
    if order == "die":
        os._exit(1)
    if order == "sleep":
        time.sleep(60)
    kind = "error" if order == "fail" else "response"
    left_ms = deadline_ms - time.time() * 1000
    answer = json.dumps({"pid": os.getpid(), "order": order, "left_ms": left_ms}).encode()
    urllib.request.urlopen(urllib.request.Request(f"{base}/{id}/{kind}", data=answer)).close()
    if order == "linger":
        time.sleep(0.5)
