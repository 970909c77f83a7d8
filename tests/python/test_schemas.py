"""Files that `tilebeat new` begins, and the schemas that they name, in an independent validator."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import jsonschema
import pytest

from tilebeat import _library

KINDS = ["hardware", "workload", "suite", "sweep"]


def begun(kind: str) -> tuple[dict[str, Any], jsonschema.Draft7Validator]:
    """A new file, and a validator of the schema that it names."""
    made = json.loads(_library.command(["new", kind]).text)
    schema = json.loads(pathlib.Path(made["$schema"]).read_text(encoding="utf-8"))
    jsonschema.Draft7Validator.check_schema(schema)
    return made, jsonschema.Draft7Validator(schema)


@pytest.mark.parametrize("kind", KINDS)
def test_AP_4_new_files_follow_the_schema_that_they_name(kind: str) -> None:
    made, validator = begun(kind)
    validator.validate(made)
    made["nothing"] = 1
    assert not validator.is_valid(made)


def test_AP_4_a_validator_finds_the_place_that_the_program_names() -> None:
    made, validator = begun("hardware")
    made["switch_array"]["rows"] = -3
    (error,) = validator.iter_errors(made)
    with pytest.raises(_library.Error) as refused:
        _library.call("plan", [], json.dumps(made), json.dumps(begun("workload")[0]))
    assert "/" + "/".join(map(str, error.absolute_path)) == refused.value.path == "/switch_array/rows"
