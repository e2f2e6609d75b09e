"""Tilewright: dynamic tensor programs, compiled in microseconds and run by a bytecode VM."""

from __future__ import annotations
