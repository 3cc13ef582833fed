"""Second block: joins length and history. The variables of the first block are still there."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from tools import ToolError
from tools.workspace import file_history, search_text


def commits(path):
    try:
        return file_history(path=path, limit=100)["commits"]
    except ToolError as error:  # no git, or no repository: the rest of the report is still worth it
        return error


longest = sorted(lines, key=lines.get, reverse=True)[:12]
with ThreadPoolExecutor(8) as pool:  # the calls overlap
    history = dict(zip(longest, pool.map(commits, longest)))

tests = Counter(m["path"] for m in search_text(pattern=r"#\[(tokio::)?test\]", limit=5000)["matches"])

rows = ["| file | lines | tests | commits | last change |", "| --- | ---: | ---: | ---: | --- |"]
for path in longest:
    found = history[path]
    changes, last = ("?", "?") if isinstance(found, ToolError) else (len(found), "never")
    if changes not in ("?", 0):
        last = f"{found[0]['date'][:10]} {found[0]['subject'][:40]}"
    rows.append(f"| {path} | {lines[path]} | {tests[path]} | {changes} | {last} |")

with open("report.md", "w") as file:  # kept as an artifact
    file.write("\n".join(["# The longest files", "", *rows, ""]))
print("\n".join(rows))
