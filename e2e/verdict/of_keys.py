"""Says how many keys the JSON parsers of this environment find in a text: Python's json, orjson, and jiter (in pydantic-core). Reads a
text in hex digits from each line of its standard input, and answers each with a line {"json":n,"orjson":n,"jiter":n}; -1: it does not
take the text."""

import json
import sys

import orjson
import pydantic_core


def keys(value) -> int:
    if isinstance(value, dict):
        return len(value) + sum(keys(v) for v in value.values())
    if isinstance(value, list):
        return sum(keys(v) for v in value)
    return 0


def count(parse, text: bytes) -> int:
    try:
        return keys(parse(text))
    except (ValueError, RecursionError):
        return -1


PARSERS = {"json": json.loads, "orjson": orjson.loads, "jiter": pydantic_core.from_json}

for line in sys.stdin:
    text = bytes.fromhex(line.strip())
    print(json.dumps({name: count(parse, text) for name, parse in PARSERS.items()}), flush=True)
