"""Tell whether the wheel of omni-ipc in a folder is of this checkout: what is checked shall be what lies here.

python stress/same_wheel.py WHEELS CHECKOUT
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path


def differing(wheel: Path, checkout: Path) -> str | None:
    """Name a module in which they differ; None if there is none."""
    with zipfile.ZipFile(wheel) as archive:
        packed = {name: archive.read(name) for name in archive.namelist() if name.endswith(".py")}
    here = {path.relative_to(checkout).as_posix(): path.read_bytes() for path in checkout.glob("omni_ipc/**/*.py")}
    return next((name for name in sorted({*packed, *here}) if packed.get(name) != here.get(name)), None)


def main() -> None:
    """End with a sentence, unless there is one wheel, and it is the same."""
    folder, checkout = map(Path, sys.argv[1:])
    again = f"Make it again, where an index can be reached: sh stress/wheels.sh {folder}"
    wheels = sorted(folder.glob("omni_ipc-*.whl"))
    if len(wheels) != 1:
        sys.exit(f"omni_ipc: there are {len(wheels)} wheels of omni-ipc in '{folder}', and one is needed. {again}")
    try:
        name = differing(wheels[0], checkout)
    except (OSError, zipfile.BadZipFile) as error:
        sys.exit(f"omni_ipc: '{wheels[0]}' cannot be read: {error}. {again}")
    if name is not None:
        sys.exit(f"omni_ipc: '{wheels[0]}' is not of this checkout: {name} differs. {again}")


if __name__ == "__main__":
    main()
