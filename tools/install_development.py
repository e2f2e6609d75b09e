"""Makes the virtual environment import the package from this checkout, as `pip install -e` would, without a build.

Writes a path file and the metadata that pip and importlib.metadata read (version, torch backend entry point), and links
the `tilewright` command. CMake puts the extension beside the Python sources. `pip uninstall tilewright` undoes it.
"""

import os
import sysconfig
import tomllib
from pathlib import Path


def main() -> None:
    root = Path(__file__).resolve().parent.parent
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    name, version = project["name"], project["version"]
    site = Path(sysconfig.get_path("purelib"))
    scripts = Path(sysconfig.get_path("scripts"))
    if (site / name).exists():
        raise SystemExit(f"{site / name} would hide this checkout: pip uninstall {name} first")
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nSummary: {project['description']}\n"
    metadata += "".join(f"Requires-Dist: {requirement}\n" for requirement in project["dependencies"])
    entry_points = ""
    for group, entries in project["entry-points"].items():
        entry_points += f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in entries.items())
    files = {
        site / f"__editable__.{name}.pth": f"{root / 'python'}\n",
        site / info / "METADATA": metadata,
        site / info / "INSTALLER": "tilewright-dev\n",
        site / info / "entry_points.txt": entry_points,
    }
    record = [f"{os.path.relpath(path, site)},," for path in [*files, scripts / "tilewright"]]
    files[site / info / "RECORD"] = "\n".join([*record, f"{info}/RECORD,,", ""])
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    command = scripts / "tilewright"
    command.unlink(missing_ok=True)
    command.symlink_to(root / "build" / "cli" / "tilewright")


main()
