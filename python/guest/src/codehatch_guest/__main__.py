"""``python -m codehatch_guest``: the guest of a sandbox that somebody else has built."""

from __future__ import annotations

from .standalone import main

if __name__ == "__main__":
    raise SystemExit(main())
