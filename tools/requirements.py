"""Prints the requirements of the named extras of pyproject.toml, one a line; `build` names the build requirements."""

import sys
import tomllib
from pathlib import Path


def main() -> None:
    project = tomllib.loads(Path("pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    extras["build"] = project["build-system"]["requires"] + project["project"]["dependencies"]
    requirements = {}
    for name in sys.argv[1:]:
        if name not in extras:
            raise SystemExit(f"no extra named {name}: there are {', '.join(sorted(extras))}")
        requirements.update(dict.fromkeys(extras[name]))
    print("\n".join(requirements))


main()
