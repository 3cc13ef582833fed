//! What both run. A program prints its own figure, timed with Python's clock.

/// Writes one byte as soon as user code runs.
pub(crate) const FIRST_LINE: &str = "import os\nos.write(1, b'x')";

/// One call, in a turn of its own.
pub(crate) const SHORT: &str = "from tools.demo import echo\nassert echo(v=7) == {'v': 7}";

/// As little as there is.
pub(crate) const TRIVIAL: &str = "x = 1";

/// Seconds for each of `calls` calls.
pub(crate) fn sequential_calls(calls: u32) -> String {
    format!(
        "from tools.demo import echo\nimport time\n\
         for i in range(50): echo(v=i)\n\
         begin = time.perf_counter()\n\
         for i in range({calls}): echo(v=i)\n\
         print((time.perf_counter() - begin) / {calls})"
    )
}

/// Calls a second of `threads` threads with `calls` each.
pub(crate) fn threads(threads: u32, calls: u32) -> String {
    format!(
        "from tools.demo import echo\nimport time\nfrom concurrent.futures import ThreadPoolExecutor\n\
         def many(first):\n    return [echo(v=first + i)['v'] for i in range({calls})]\n\
         with ThreadPoolExecutor({threads}) as pool:\n    \
         list(pool.map(many, range(16)))\n    \
         begin = time.perf_counter()\n    \
         got = list(pool.map(many, range({threads})))\n    \
         took = time.perf_counter() - begin\n\
         assert got == [[n + i for i in range({calls})] for n in range({threads})]\n\
         print({threads} * {calls} / took)"
    )
}

/// Seconds for a result of so many megabytes.
pub(crate) fn result(megabytes: u32) -> String {
    format!(
        "from tools.demo import payload\nimport time\n\
         begin = time.perf_counter()\n\
         got = payload(n={megabytes}_000_000)\n\
         took = time.perf_counter() - begin\n\
         assert len(got) == {megabytes}_000_000\ndel got\nprint(took)"
    )
}

/// Seconds for arguments of so many megabytes.
pub(crate) fn arguments(megabytes: u32) -> String {
    format!(
        "from tools.demo import length\nimport time\n\
         sent = 'x' * {megabytes}_000_000\n\
         begin = time.perf_counter()\n\
         got = length(v=sent)\n\
         took = time.perf_counter() - begin\n\
         assert got >= len(sent)\ndel sent\nprint(took)"
    )
}

/// Prints so many megabytes in lines of 1,000 bytes.
pub(crate) fn output(megabytes: u32) -> String {
    format!("line = 'y' * 999\nfor _ in range({megabytes}_000): print(line)")
}
