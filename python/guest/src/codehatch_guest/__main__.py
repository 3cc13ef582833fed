"""``python -m codehatch_guest``: the guest of a sandbox that somebody else has built."""

from __future__ import annotations

import sys


def main() -> int:
    """Be a guest; for the command line."""
    # The directory in which Python was started, which may be the workspace: what lies there must not take
    # the place of a standard module.
    if not getattr(sys.flags, "safe_path", False) and not sys.flags.isolated:
        del sys.path[0]
    from .standalone import main

    return main()


if __name__ == "__main__":
    raise SystemExit(main())
