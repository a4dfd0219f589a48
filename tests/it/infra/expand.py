"""Expands SAM templates as CloudFormation would, for the assertions in Rust.

Reads a JSON list of template texts from stdin and writes a JSON list of {"template": …} or {"error": text}, in order.
"""

import json
import os
import sys

os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")

from samtranslator.translator.transform import transform  # noqa: E402
from samtranslator.yaml_helper import yaml_parse  # noqa: E402


class NoManagedPolicies:
    def load(self):
        return {}


def expand(text):
    try:
        template = yaml_parse(text)
        if "Transform" not in template:
            return {"template": template}
        # Packaging uploads the code and puts its address here; the transform takes no local path.
        template["Globals"]["Function"]["CodeUri"] = "s3://bucket/code.zip"
        return {"template": transform(template, {}, NoManagedPolicies())}
    except Exception as e:  # whatever it is, the caller shows it
        return {"error": f"{type(e).__name__}: {e}"}


json.dump([expand(text) for text in json.load(sys.stdin)], sys.stdout)
