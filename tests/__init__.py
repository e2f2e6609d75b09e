"""Tests that cross layers. A package, so that its conftest and that of python/tests have different names."""
