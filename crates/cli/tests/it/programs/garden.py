"""Joins the notes of a repository with their history, and keeps what is left to do in a graph."""

import json
import re
from tools.filesystem import directory_tree, read_text_file
from tools.git import git_log, git_show
from tools.memory import create_entities, create_relations, search_nodes
from tools.time import convert_time

REPOSITORY = "[REPOSITORY]"


def notes(tree, folder=""):
    for entry in tree:
        if entry["type"] == "directory":
            yield from notes(entry["children"], f"{folder}{entry['name']}/")
        elif entry["name"].endswith(".md"):
            yield folder + entry["name"]


# Files: which notes still have something to do.
tree = json.loads(directory_tree(path=REPOSITORY, excludePatterns=[".git"])["content"])
to_do = {}
for path in sorted(notes(tree)):
    lines = read_text_file(path=f"{REPOSITORY}/{path}")["content"].splitlines()
    if found := [line[5:] for line in lines if line.startswith("TODO ")]:
        to_do[path] = found

# History: who wrote them, and when.
log = git_log(repo_path=REPOSITORY)
pattern = r"Commit: (\w+)\nAuthor: (\w+)\nDate: (\S+) (\d\d:\d\d).*\nMessage: (.*)\n"
commits = re.findall(pattern, log)
written = {}
for revision, author, day, time, subject in commits:
    shown = git_show(repo_path=REPOSITORY, revision=revision)
    for path in to_do:
        if path in shown:
            there = convert_time(source_timezone="UTC", time=time, target_timezone="Asia/Tokyo")
            written[path] = (author, subject, day, there["target"]["datetime"][11:16])

# Notes: kept in the graph, and found there by words.
people = sorted({author for author, *_ in written.values()})
create_entities(
    entities=[
        {"name": name, "entityType": "person", "observations": ["gardens"]} for name in people
    ]
    + [{"name": path, "entityType": "note", "observations": found} for path, found in to_do.items()]
)
create_relations(
    relations=[
        {"from": author, "to": path, "relationType": "wrote"}
        for path, (author, *_) in written.items()
    ]
)
beans = search_nodes(query="beans")
{"to do": to_do, "written": written, "beans": beans["entities"], "commits": len(commits)}
