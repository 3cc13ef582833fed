"""Goes on where one of four servers dies while it is called."""

from tools import ToolError
from tools.filesystem import read_text_file
from tools.git import git_log
from tools.memory import create_entities, read_graph
from tools.time import convert_time

REPOSITORY = "[REPOSITORY]"
seen = []
for name in ["garden.md", "pipe", "seeds/list.md", "weather.md"]:
    try:
        text = read_text_file(path=f"{REPOSITORY}/{name}")["content"]
    except ToolError as error:
        seen.append({"name": name, "error": str(error)})
        continue
    commits = git_log(repo_path=REPOSITORY, max_count=3).count("Commit: ")
    hour = convert_time(source_timezone="UTC", time="00:00", target_timezone="Asia/Tokyo")
    create_entities(entities=[{"name": name, "entityType": "note", "observations": [text]}])
    seen.append({"name": name, "commits": commits, "hour": hour["time_difference"]})
{"seen": seen, "kept": [entity["name"] for entity in read_graph()["entities"]]}
