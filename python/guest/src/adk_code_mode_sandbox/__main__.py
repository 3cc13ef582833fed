"""``python -m adk_code_mode_sandbox``, as hosts of ``adk-code-mode`` start a sandbox's guest."""

from __future__ import annotations

from codehatch_guest.__main__ import main

if __name__ == "__main__":
    raise SystemExit(main())
