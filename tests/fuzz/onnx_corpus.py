"""onnx_corpus.py FOLDER: writes the models of the node tests of the installed `onnx` package, for the fuzz tests of the
ONNX reader (TILEWRIGHT_FUZZ_CORPUS=FOLDER). They hold every operator and every kind of attribute."""

import sys
import warnings
from pathlib import Path

from onnx.backend.test.loader import load_model_tests

LARGEST = 1 << 16


def main(folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    written = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in load_model_tests(kind="node"):
            content = case.model.SerializeToString()
            if len(content) <= LARGEST:
                (folder / f"{case.name}.onnx").write_bytes(content)
                written += 1
    print(f"{written} models in {folder}")
    return 0 if written else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
