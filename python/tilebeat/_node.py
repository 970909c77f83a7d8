"""Dictionaries with named entries."""

from __future__ import annotations

from typing import Any


class Node(dict[str, Any]):
    """A JSON object: entries that were not given are not in it, so that the simulator's defaults hold."""

    def __init__(self, **entries: Any) -> None:
        super().__init__({key: value for key, value in entries.items() if value is not None})

    def __getattr__(self, name: str) -> Any:
        if name in type(self).__annotations__:
            return self.get(name)
        raise AttributeError(f"{type(self).__name__} has no entry '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in type(self).__annotations__:
            raise AttributeError(f"{type(self).__name__} has no entry '{name}'")
        if value is None:
            self.pop(name, None)
        else:
            self[name] = value
