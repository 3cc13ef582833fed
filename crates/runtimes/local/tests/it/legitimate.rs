//! What programs do for good reasons, in the sealed sandbox.

use crate::support::{Setup, block_on, session::packages};

async fn prints(setup: Setup, code: &str) -> Vec<String> {
    let mut session = setup.start().await;
    let lines = session.attack(code).await;
    session.close().await;
    lines
}

/// A program and what it prints.
macro_rules! works {
    ($name:ident { $code:expr, $prints:expr }) => {
        #[test]
        fn $name() {
            assert_eq!(block_on(prints(Setup::sealed(), $code)), $prints);
        }
    };
}

works! { threads_work {
    "
    import queue, threading
    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor(16) as pool:
        print(sum(pool.map(lambda x: x * x, range(100))))
    inbox, lock, local = queue.Queue(), threading.Lock(), threading.local()
    def work(number):
        local.number = number
        with lock:
            inbox.put(local.number)
    threads = [threading.Thread(target=work, args=(number,)) for number in range(20)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    print(sorted(inbox.get() for _ in threads) == list(range(20)))
    ",
    ["328350", "True"]
} }

works! { subprocesses_work {
    "
    import subprocess
    print(subprocess.run([sys.executable, '-c', 'print(40 + 2)'], capture_output=True, text=True).stdout.strip())
    print(subprocess.run('echo one | tr a-z A-Z', shell=True, capture_output=True, text=True).stdout.strip())
    with subprocess.Popen(['cat'], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as cat:
        print(cat.communicate(b'through')[0].decode())
    print(subprocess.run(['sh', '-c', 'exit 3']).returncode)
    try:
        subprocess.run(['sleep', '10'], timeout=0.05)
    except subprocess.TimeoutExpired:
        print('timed out')
    ",
    ["42", "ONE", "through", "3", "timed out"]
} }

works! { multiprocessing_by_fork_works {
    "
    import multiprocessing
    context = multiprocessing.get_context('fork')
    def square(x): return x * x
    with context.Pool(4) as pool:
        print(pool.map(square, range(6)))
    queue, value, event = context.Queue(), context.Value('i', 0), context.Event()
    def work():
        with value.get_lock():
            value.value += 5
        queue.put('done')
        event.set()
    process = context.Process(target=work)
    process.start()
    print(queue.get(timeout=10), event.wait(10))
    process.join()
    print(value.value, process.exitcode)
    from multiprocessing import shared_memory
    block = shared_memory.SharedMemory(create=True, size=100)
    block.buf[0] = 7
    same = shared_memory.SharedMemory(block.name)
    print(same.buf[0])
    same.close()
    block.close(); block.unlink()
    ",
    ["[0, 1, 4, 9, 16, 25]", "done True", "5 0", "7"]
} }

works! { multiprocessing_by_spawn_works {
    "
    import multiprocessing, sys
    with open('jobs.py', 'w') as file:
        file.write('def square(x):\\n    return x * x\\ndef put(queue):\\n    queue.put(1)\\n')
    import jobs
    context = multiprocessing.get_context('spawn')
    with context.Pool(2) as pool:
        print(pool.map(jobs.square, range(5)))
    queue = context.Queue()
    process = context.Process(target=jobs.put, args=(queue,))
    process.start()
    print(queue.get(timeout=20))
    process.join()
    ",
    ["[0, 1, 4, 9, 16]", "1"]
} }

works! { sqlite_works_in_the_workspace_with_a_write_ahead_log {
    "
    import sqlite3, threading
    database = sqlite3.connect('/workspace/data.db')
    print(database.execute('pragma journal_mode=wal').fetchone()[0])
    database.execute('create table t (x integer)')
    database.executemany('insert into t values (?)', [(x,) for x in range(1000)])
    database.commit()
    def read():
        print(sqlite3.connect('/workspace/data.db').execute('select sum(x) from t').fetchone()[0])
    thread = threading.Thread(target=read)
    thread.start(); thread.join()
    print(sorted(os.listdir('/workspace')))
    database.close()
    other = sqlite3.connect('/tmp/other.db', isolation_level='EXCLUSIVE')
    other.execute('create table t (x)'); other.commit()
    print(other.execute('pragma integrity_check').fetchone()[0])
    ",
    ["wal", "499500", "['data.db', 'data.db-shm', 'data.db-wal']", "ok"]
} }

works! { temporary_files_work {
    "
    import tempfile
    with tempfile.TemporaryDirectory() as directory, tempfile.NamedTemporaryFile(dir=directory) as named:
        named.write(b'x' * 1000); named.flush()
        print(os.path.getsize(named.name), directory.startswith('/tmp/'))
    with tempfile.TemporaryFile() as nameless, tempfile.SpooledTemporaryFile(max_size=10) as spooled:
        nameless.write(b'y'); nameless.seek(0)
        spooled.write(b'z' * 100); spooled.seek(0)
        print(nameless.read(), len(spooled.read()))
    print(tempfile.gettempdir(), os.listdir('/tmp'))
    ",
    ["1000 True", "b'y' 100", "/tmp ['home']"]
} }

works! { asyncio_works {
    "
    import asyncio, tempfile
    async def main():
        process = await asyncio.create_subprocess_exec('echo', 'from a process', stdout=asyncio.subprocess.PIPE)
        print((await process.communicate())[0].decode().strip())
        one, other = socket.socketpair()
        reader, writer = await asyncio.open_connection(sock=one)
        _, peer = await asyncio.open_connection(sock=other)
        peer.write(b'from a pair\\n'); await peer.drain()
        print((await reader.readline()).decode().strip())
        async def serve(reader, writer):
            writer.write(await reader.readline()); await writer.drain(); writer.close()
        server = await asyncio.start_unix_server(serve, '/tmp/server')
        reader, writer = await asyncio.open_unix_connection('/tmp/server')
        writer.write(b'from a server\\n')
        print((await reader.readline()).decode().strip())
        server.close()
        read, write = os.pipe()
        loop = asyncio.get_running_loop()
        stream = asyncio.StreamReader()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(read, 'rb'))
        os.write(write, b'from a pipe\\n'); os.close(write)
        print((await stream.readline()).decode().strip())
        print(await asyncio.to_thread(lambda: 'from a thread'))
        print(await asyncio.gather(*(asyncio.sleep(0.01, number) for number in range(3))))
    await main()
    ",
    [
        "from a process",
        "from a pair",
        "from a server",
        "from a pipe",
        "from a thread",
        "[0, 1, 2]",
    ]
} }

#[test]
fn numpy_and_pandas_work_from_a_virtual_environment() {
    let setup = Setup::own(|local| local.with_python(packages()));
    let code = "
        import io, numpy, pandas
        matrix = numpy.arange(250_000, dtype=float).reshape(500, 500)
        print((matrix @ matrix.T).shape, numpy.linalg.norm(numpy.eye(9)))
        frame = pandas.read_csv(io.StringIO('name,value\\na,1\\nb,2\\na,3\\n'))
        print(frame.groupby('name').value.sum().to_dict())
        frame.to_csv('/workspace/out.csv', index=False)
        print(open('/workspace/out.csv').read().split())
        print(numpy.__file__.startswith('/opt/env/'))
        from concurrent.futures import ProcessPoolExecutor
        import multiprocessing
        with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context('fork')) as pool:
            print(list(pool.map(numpy.sum, [numpy.ones(10), numpy.ones(20)])) == [10, 20])
        ";
    assert_eq!(
        block_on(prints(setup, code)),
        [
            "(500, 500) 3.0",
            "{'a': 4, 'b': 2}",
            "['name,value', 'a,1', 'b,2', 'a,3']",
            "True",
            "True",
        ]
    );
}
