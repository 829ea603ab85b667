"""``python -m omni_ipc`` is ``omni-ipc``."""

from omni_ipc.cli import main

if __name__ == "__main__":
    main()
