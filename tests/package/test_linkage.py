"""What is shipped needs nothing of the machine it was built on but libc and libstdc++."""

import re
import subprocess

import pytest

ALLOWED = re.compile(r"(libc|libm|libpthread|libdl|librt|libstdc\+\+|libgcc_s|ld-linux[-\w]*)\.so\.\d+")


def needed_libraries(path) -> list[str]:
    listing = subprocess.run(["objdump", "-p", str(path)], capture_output=True, text=True, check=True).stdout
    return re.findall(r"NEEDED\s+(\S+)", listing)


@pytest.mark.parametrize("pattern", ["python/_core*.so", "cli/tilewright"])
def test_only_the_system_libraries_are_linked(build, pattern):
    files = list(build.glob(pattern))
    assert files, f"{pattern} is not built"
    for path in files:
        foreign = [name for name in needed_libraries(path) if not ALLOWED.fullmatch(name)]
        assert not foreign, f"{path.name} is linked with {foreign}"
