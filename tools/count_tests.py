"""Adds up the results that GoogleTest and pytest left as XML in a folder, and ends with "N passed, M failed".

A C++ test program that died wrote no file: ctest's own report then counts as one failure.
"""

import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path


def main() -> int:
    folder = Path(sys.argv[1])
    passed = failed = skipped = 0
    failures = []
    suites = {path.stem for path in folder.glob("*.xml")}
    for path in sorted(folder.glob("*.xml")):
        for case in ElementTree.parse(path).iter("testcase"):
            name = f"{case.get('classname')}.{case.get('name')}"
            if case.find("failure") is not None or case.find("error") is not None:
                failed += 1
                failures.append(name)
            elif case.find("skipped") is not None or case.get("status") == "notrun":
                skipped += case.get("result") != "suppressed"
            else:
                passed += 1
    report = folder / "ctest.junit"
    for case in ElementTree.parse(report).iter("testcase") if report.exists() else ():
        name = case.get("name")
        has_own_report = f"test_{name}" in suites
        if case.find("failure") is not None and not has_own_report:
            failed += 1
            failures.append(f"{name} (died)")
        elif case.find("failure") is None and not has_own_report:
            passed += 1
    for name in failures:
        print(f"failed: {name}")
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or not passed else 0


sys.exit(main())
