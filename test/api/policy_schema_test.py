#!/usr/bin/env python3
"""Whether deploy/policy.schema.json judges as the reader does, on the cases of policy_cases.json
(the reader's half is policy_schema_test.cc) and on the example policies. Prints what is wrong and
exits 1. Needs jsonschema and yaml (Debian: python3-jsonschema, python3-yaml)."""
import json
import pathlib
import sys

import jsonschema
import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def faults(schema, cases, examples):
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    for name, policy in cases["valid"].items():
        for error in validator.iter_errors(policy):
            yield f"the schema refuses a valid policy: {name}: {error.message}"
    for name, policy in cases["invalid"].items():
        if validator.is_valid(policy):
            yield f"the schema takes an invalid policy: {name}"
    for name, policy in cases["schemaCannotTell"].items():
        if not validator.is_valid(policy):
            yield f"the schema can tell after all, so this belongs to the invalid ones: {name}"
    for path in examples:
        for error in validator.iter_errors(yaml.safe_load(path.read_text())):
            yield f"the schema refuses {path.name}: {error.message}"
    if not examples or not all(cases[k] for k in ("valid", "invalid", "schemaCannotTell")):
        yield "there is nothing to judge"


if __name__ == "__main__":
    found = list(faults(json.loads((ROOT / "deploy/policy.schema.json").read_text()),
                        json.loads((ROOT / "test/api/policy_cases.json").read_text()),
                        sorted((ROOT / "deploy/policies").glob("*.yaml"))))
    print("\n".join(found) if found else "policy schema: no fault")
    sys.exit(1 if found else 0)
