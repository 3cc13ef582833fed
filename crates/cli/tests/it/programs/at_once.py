"""Calls five servers from threads and from coroutines, and joins what they say."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from tools import ToolError
from tools.everything import get_structured_content, get_sum
from tools.memory import create_entities, read_graph
from tools.sdk import add, fail, mirror
from tools.time import convert_time
from tools.workspace import count_lines, file_history, search_text

# Threads: each call gets its own answer.
paths = sorted(file["path"] for file in count_lines(glob="**/*.md")["files"])
with ThreadPoolExecutor(8) as pool:
    history = dict(zip(paths, pool.map(file_history, paths)))
    sums = list(pool.map(lambda n: get_sum(a=n, b=n), range(20)))
authors = {path: found["commits"][0]["author"] for path, found in history.items()}
sums = [int(text.split()[-1].rstrip(".")) for text in sums]


# Coroutines: different servers at once.
async def add_up(numbers):
    total = 0
    for number in numbers:
        total = (await add.aio(a=total, b=number))["result"]
    return total


places = ["New York", "Chicago", "Los Angeles"]
*weather, total, found, mirrored, failed = await asyncio.gather(
    *[get_structured_content.aio(location=place) for place in places],
    add_up(sums),
    search_text.aio(pattern="^TODO "),
    mirror.aio(point={"x": 1.5, "y": -2.0}),
    fail.aio(why="on purpose"),
    return_exceptions=True,
)
warm = [place for place, now in zip(places, weather) if now["temperature"] > 35]
to_do = [(match["path"], authors[match["path"]], match["text"]) for match in found["matches"]]
hours = await asyncio.gather(
    *[
        convert_time.aio(source_timezone="UTC", time="12:00", target_timezone=zone)
        for zone in ["Asia/Tokyo", "Asia/Kolkata"]
    ]
)

create_entities(
    entities=[
        {
            "name": author,
            "entityType": "person",
            "observations": [text for _, by, text in to_do if by == author],
        }
        for author in sorted(set(authors.values()))
    ]
)
{
    "sums": sums,
    "total": total,
    "warm": warm,
    "mirrored": mirrored,
    "failed": [failed.error_type, isinstance(failed, ToolError), failed.tool],
    "hours": [hour["time_difference"] for hour in hours],
    "people": {entity["name"]: entity["observations"] for entity in read_graph()["entities"]},
}
