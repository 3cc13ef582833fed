"""First block: which source files there are, and how long."""

from tools.workspace import count_lines, list_files

sizes = {f["path"]: f["bytes"] for f in list_files(glob="**/*.{rs,py}", limit=5000)["files"]}
lines = {f["path"]: f["lines"] for f in count_lines(glob="**/*.{rs,py}")["files"]}
print(f"{len(sizes)} source files, {sum(lines.values()):,} lines, {sum(sizes.values()):,} bytes")
