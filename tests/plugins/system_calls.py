"""Which calls of the operating system a storage makes, and in which order."""

import os

import pytest


def recorded(monkeypatch: pytest.MonkeyPatch, *names: str) -> list[str]:
    """Grows by the name of each call of these functions of ``os`` from now on."""
    calls: list[str] = []

    def record(name: str) -> None:
        original = getattr(os, name)

        def call(*arguments: object, **more: object) -> object:
            calls.append(name)
            return original(*arguments, **more)

        monkeypatch.setattr(os, name, call)

    for name in names:
        record(name)
    return calls
