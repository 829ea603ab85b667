"""``python -m omni_ipc.stress.devices cuda``: a line on a device, and on how its streams are held back."""

import sys
import warnings

from omni_ipc.device.api import open_device
from omni_ipc.errors import OmniError
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.stress.devices.opening import open_streams


def main(kind: str) -> str:
    """Open a device, hold its streams back, and tell."""
    name = open_device(kind).name
    import torch

    module = getattr(torch, name.partition(":")[0])
    model = module.get_device_name(name) if hasattr(module, "get_device_name") else "this machine's processor"
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        streams = open_streams(NativeRuntime(), kind)
        streams.close()
    why = "".join(f" ({each.message})" for each in told)
    return f"{name}: {model}, torch {torch.__version__}; its streams are held back by {streams.held_back_by}{why}"


if __name__ == "__main__":
    try:
        print(main(sys.argv[1]))
    except OmniError as error:
        sys.exit(f"{error}")
