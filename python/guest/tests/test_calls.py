"""Tool calls of blocks, as the host sees them."""

from __future__ import annotations

import json
import unittest
from typing import Any

from harness import Block, Failing, GuestCase, wait_until

CALL = "from adk_code_mode_sandbox._rpc_client import HTTPStatusError, ToolError, call\n"


class Calls(GuestCase):
    def start_guest(self, **options: Any) -> Any:
        guest = super().start_guest(**options)
        guest.run(CALL)
        return guest

    def test_a_call_is_the_frame_of_the_protocol(self) -> None:
        self.guest.start("call('a.b', {'x': 1, 'é': None})\ncall('c', {}, 2.5)")
        self.assertEqual(
            self.guest.next_line(),
            '{"id":"1","name":"a.b","args":{"x":1,"é":null},"timeout":null,"kind":"tool_call"}'.encode(),
        )
        self.guest.reply({"id": "1"})
        self.assertEqual(
            self.guest.next_line(),
            b'{"id":"2","name":"c","args":{},"timeout":2.5,"kind":"tool_call"}',
        )
        self.guest.reply({"id": "2"})
        self.assertEqual(self.guest.finish().exit_code, 0)

    def test_values_arrive_exactly_in_both_directions(self) -> None:
        self.prints(
            """
            nan = float('nan')
            for value in (None, True, 0, 2**53 + 1, 2**63 - 1, -2**63, 2**64 - 1, 2**70, 10**40,
                          0.1, 1.0, -0.0, 1e-07, 1e400, -1e400, '', 'naïve 日本 😀', '\\0\\u2028\\x7f',
                          [], [[[]]], {}, {'a': [1, {'b': None}]}):
                back = call('echo', {'v': value})['args']['v']
                assert (type(back), repr(back)) == (type(value), repr(value)), (value, back)
            back = call('echo', {'v': [nan]})['args']['v'][0]
            print(back != back, type(back).__name__)
            """,
            "True float\n",
        )

    def test_integers_of_any_size_arrive_exactly(self) -> None:
        self.guest.start("big = 10**6000 + 7\nback = call('echo', {'v': big})\nprint(back == big)")
        line = self.guest.next_line()
        digits = line[line.index(b'{"v":') + 5 : line.index(b"}")]
        self.assertEqual(len(digits), 6001)
        self.guest.send_line(
            b'{"id":"1","ok":true,"value":%s,"error":null,"kind":"tool_result"}' % digits
        )
        self.assertEqual(self.guest.finish().stdout, "True\n")

    def test_lone_surrogates_arrive(self) -> None:
        self.guest.send(
            {"kind": "run", "code": "print(ascii(call('echo', {'v': '\\ud800'})['args']))"}
        )
        self.assertEqual(self.guest.finish().stdout, "{'v': '\\ud800'}\n")

    def test_arguments_without_a_json_form_are_named_and_nothing_is_sent(self) -> None:
        block = self.guest.run("call('a.find', {'v': {'items': [0, {1}]}})")
        self.assertEqual(
            block.stderr.splitlines()[-1],
            "TypeError: find() argument v.items[1] is a set, which has no JSON form; "
            "use sorted(...) or list(...)",
        )
        self.assertEqual(block.calls, [])
        self.prints("print(call('echo', {'v': 1})['args'])", "{'v': 1}\n")

    def test_an_error_is_an_exception_with_its_parts(self) -> None:
        def answer(name: str, args: dict[str, Any]) -> None:
            raise Failing(**args)

        self.guest.answer = answer
        self.prints(
            """
            for args in ({'type': 'KeyError', 'message': 'k', 'trace': 'line 1'}, {'type': 'ValueError'}, {},
                         {'type': None, 'message': 5, 'trace': 5}, {'message': 'only'},
                         {'type': 'HTTPStatusError', 'message': 'no status'}):
                try:
                    call('a.bad', args)
                except ToolError as error:
                    print(type(error).__name__, repr(str(error)), error.error_type, error.tool, error.trace)
            """,
            "ToolError 'KeyError: k' KeyError a.bad line 1\n"
            "ToolError 'ValueError: ' ValueError a.bad None\n"
            "ToolError 'Error: ' Error a.bad None\n"
            "ToolError 'Error: 5' Error a.bad None\n"
            "ToolError 'Error: only' Error a.bad None\n"
            "ToolError 'HTTPStatusError: no status' HTTPStatusError a.bad None\n",
        )
        self.prints(
            """
            for status, body in ((404, {'detail': 'gone'}), (True, None), (500, 'text')):
                try:
                    call('a.bad', {'type': 'HTTPStatusError', 'message': 'm', 'status_code': status, 'body': body})
                except HTTPStatusError as error:
                    print(error, error.status_code, error.body, isinstance(error, ToolError))
            """,
            "m 404 {'detail': 'gone'} True\nm 1 None True\nm 500 text True\n",
        )

    def test_a_failed_call_ends_only_what_it_must(self) -> None:
        def answer(name: str, args: dict[str, Any]) -> Any:
            if name == "bad":
                raise Failing(type="KeyError", message="k")
            return "Error: none found"

        self.guest.answer = answer
        block = self.guest.run("a = call('ok', {})\nprint(a)\ncall('bad', {})\nprint('never')")
        self.assertEqual((block.exit_code, block.stdout), (1, "Error: none found\n"))
        self.assertEqual(block.stderr.splitlines()[-1], "tools.ToolError: KeyError: k")
        self.prints("print(a)", "Error: none found\n")

    def test_sixteen_threads_get_their_own_answers_in_any_order(self) -> None:
        self.guest.start(
            """
            from concurrent.futures import ThreadPoolExecutor as X
            with X(16) as pool:
                r = list(pool.map(lambda i: (i, call('echo', {'i': i})), range(200)))
            print(all(a == b for a, b in r), len(r))
            """
        )
        waiting: list[dict[str, Any]] = []
        for _ in range(200):
            waiting.append(self.guest.next_call())
            # Those that wait overlap: as many as there are threads, and the last is answered first.
            if len(waiting) == 16:
                self.guest.reply(waiting[-1], waiting[-1]["args"]["i"])
                waiting.pop()
        for call in reversed(waiting):
            self.guest.reply(call, call["args"]["i"])
        self.assertEqual(self.guest.finish().stdout, "True 200\n")

    def test_main_and_threads_call_at_once(self) -> None:
        self.prints(
            """
            import threading
            def work(base, seen):
                for i in range(base, base + 300):
                    seen.append(call('echo', {'i': i})['args']['i'] == i)
            seen = [[] for _ in range(5)]
            threads = [threading.Thread(target=work, args=(n * 1000, seen[n])) for n in range(1, 5)]
            for thread in threads: thread.start()
            work(0, seen[0])
            for thread in threads: thread.join()
            print([len(one) for one in seen], all(map(all, seen)))
            """,
            "[300, 300, 300, 300, 300] True\n",
        )

    def test_threads_call_between_blocks(self) -> None:
        block = self.guest.run(
            """
            import threading
            go, done = threading.Event(), []
            def work():
                go.wait()
                for i in range(100): done.append(call('echo', {'i': i})['args']['i'])
            threads = [threading.Thread(target=work) for _ in range(3)]
            for thread in threads: thread.start()
            threading.Timer(0, go.set).start()
            """
        )
        # Answered while no block runs, as far as they come then.
        for _ in range(150):
            if block.calls:
                break
            self.guest.reply(self.guest.next_call(), {"args": {"i": 1}})
        self.prints("for thread in threads: thread.join()\nprint(len(done))", "300\n")

    def test_a_forked_child_cannot_call_and_the_parent_can(self) -> None:
        block = self.guest.run(
            """
            import os
            child = os.fork()
            if not child:
                try:
                    call('a.b', {})
                except RuntimeError as error:
                    print(error)
                os._exit(0)
            os.waitpid(child, 0)
            print(call('echo', {'v': 1})['args'])
            """
        )
        self.assertEqual(
            block,
            Block(
                stdout="tool 'a.b' was called from a forked process; call tools from the process that "
                "runs the block, for example through threads\n{'v': 1}\n",
                calls=[("echo", {"v": 1})],
            ),
        )

    def test_calls_work_whatever_code_has_put_into_modules(self) -> None:
        self.prints(
            """
            import _thread, builtins, contextlib, io, json, json.decoder, json.encoder, os, select, signal, sys
            import threading, time, traceback, codehatch_guest.values, binascii, itertools, re, types
            kept = {module: dict(vars(module)) for module in
                    (_thread, builtins, io, json, json.decoder, json.encoder, os, select, signal, threading,
                     time, traceback, binascii, itertools, re, types)}
            modules, put, names_of = dict(sys.modules), setattr, vars
            for module, names in kept.items():
                for name in names:
                    if name[:2] != '__':
                        put(module, name, None)
            sys.modules.clear()
            a = call('echo', {'v': [1, b'']})
            """,
            "",
        )
        block = self.guest.run("b = call('echo', {'v': 2})\n1 / 0")
        self.assertEqual(
            block.stderr,
            'Traceback (most recent call last):\n  File "<block 3>", line 2, in <module>\n'
            "    1 / 0\nZeroDivisionError: division by zero\n",
        )
        self.prints(
            """
            for module, names in kept.items(): names_of(module).update(names)
            sys.modules.update(modules)
            print(a['args'], b['args'])
            """,
            "{'v': [1, {'kind': 'bytes', 'data': '', 'encoding': 'base64'}]} {'v': 2}\n",
        )

    def test_a_cleared_sys_modules_leaves_calls_as_they_were(self) -> None:
        self.prints(
            """
            import sys
            sys.modules.clear()
            from adk_code_mode_sandbox._rpc_client import call as again
            print(again('echo', {'v': 1})['args'], again is call)
            """,
            "{'v': 1} True\n",
        )

    def test_a_call_at_the_end_of_the_stack_fails_before_it_is_sent(self) -> None:
        block = self.guest.run(
            """
            seen = 0
            def dive(n):
                global seen
                answer = call('echo', {'n': n})
                assert answer['args']['n'] == n, answer
                seen += 1
                dive(n + 1)
            try:
                dive(0)
            except RecursionError:
                print('at the end')
            print(seen)
            """
        )
        self.assertEqual(block.stdout, f"at the end\n{len(block.calls)}\n")
        self.assertGreater(len(block.calls), 100)
        self.prints("print(call('echo', {'v': 1})['args'])", "{'v': 1}\n")

    def test_an_answer_nested_a_thousand_levels_arrives_also_deep_in_the_stack(self) -> None:
        self.guest.start(
            """
            def depth(value):
                n = 0
                while value:
                    value, n = value[0], n + 1
                return n
            def dive(n): return dive(n - 1) if n else call('deep', {})
            print(depth(dive(0)), depth(dive(400)))
            """
        )
        for _ in range(2):
            call_id = self.guest.next_call()["id"]
            self.guest.send_line(
                b'{"id":"%s","ok":true,"value":%s%s}'
                % (call_id.encode(), b"[" * 990, b"]" * 990 + b',"error":null,"kind":"tool_result"')
            )
        self.assertEqual(self.guest.finish().stdout, "989 989\n")

    def test_large_answers_and_arguments_arrive_whole(self) -> None:
        # Characters of three bytes lie across every edge of a buffer.
        for size in (65535, 65536, 65537, 1_000_000, 4_000_000):
            text = "€" * (size // 3) + "x" * (size % 3)
            with self.subTest(size):
                self.guest.answer = lambda name, args, text=text: text
                self.prints(
                    "text = call('get', {})\nprint(len(text.encode()), set(text) <= set('€x'))",
                    f"{size} True\n",
                )
                self.guest.answer = lambda name, args, text=text: args["v"] == text
                self.prints("print(call('put', {'v': text}))", "True\n")

    def test_many_answers_in_one_piece_and_one_answer_in_many(self) -> None:
        self.guest.start(
            """
            from concurrent.futures import ThreadPoolExecutor as X
            with X(8) as pool: r = list(pool.map(lambda i: call('echo', {'i': i}), range(8)))
            print(r == list(range(8)), call('echo', {'i': 8}))
            """
        )
        calls = [self.guest.next_call() for _ in range(8)]
        lines = [
            json.dumps({"id": c["id"], "ok": True, "value": c["args"]["i"], "kind": "tool_result"})
            for c in calls
        ]
        self.guest.send_bytes("".join(line + "\n" for line in lines).encode())
        self.guest.next_call()
        for byte in b'{"id":"9","value":[1,2],"kind":"tool_result"}\n':
            self.guest.send_bytes(bytes([byte]))
        self.assertEqual(self.guest.finish().stdout, "True [1, 2]\n")

    def test_frames_that_mean_nothing_are_passed_over(self) -> None:
        self.guest.start("print(call('echo', {}))")
        call = self.guest.next_call()
        for line in (
            b"", b"   ", b"\r", b"\t\r", b"null", b"5", b"[]", b'"x"', b"{", b"}", b"{}", b"nonsense", b"\xff\xfe",
            b"\x00", b"\xef\xbb\xbf{}", b'{"kind":5}', b'{"kind":null}', b'{"kind":"later","id":"1"}',
            b'{"kind":"ready"}', b'{"kind":"tool_result"}', b'{"kind":"tool_result","id":null,"value":1}',
            b'{"kind":"tool_result","id":["1"],"value":1}', b'{"kind":"tool_result","id":1,"value":1}',
            b'{"kind":"tool_result","id":"main","value":1}', b'{"kind":"tool_result","id":"999","value":1}',
            b"[" * 100_000, b'{"kind":"tool_result","id":"' + b"x" * 1000 + b'"}',
        ):  # fmt: skip
            self.guest.send_line(line)
        self.guest.reply(call, "fine")
        self.guest.reply(call, "twice")
        self.assertEqual(self.guest.finish().stdout, "fine\n")
        self.guest.send_line(b"")
        self.guest.send_line(b'{"kind":"later"}')
        self.prints("print(call('echo', {'v': 1})['args'])", "{'v': 1}\n")

    def test_white_space_and_unknown_members_do_not_matter(self) -> None:
        self.guest.start("print(call('echo', {}))")
        self.guest.next_call()
        self.guest.send_line(
            b' \t{ "later" : {} , "kind" : "tool_result" ,\t"value" : [ 1 ] , "id" : "1" } \r'
        )
        self.assertEqual(self.guest.finish().stdout, "[1]\n")

    def test_an_answer_that_cannot_be_read_fails_its_call_alone(self) -> None:
        self.guest.run(
            """
            def attempt():
                try:
                    return call('echo', {})
                except ToolError as error:
                    return f'{error.error_type}: {error}'[:60]
            """
        )
        for line, expected in (
            (b'{"id":"%s","ok":true,"value":nul', "ValueError: ValueError: the answer cannot be read: "),
            (b'{"kind":"tool_result", "id" : "%s","value":"\xff"}', "ValueError: ValueError: the answer cannot be read: 'utf-8"),
            (b'{"id":"%s","ok":true,"value":"\x01"}', "ValueError: ValueError: the answer cannot be read: "),
            (b'{"id":"%s","ok":false,"error":"no","kind":"tool_result"}', "Error: Error: no"),
            (b'{"id":"%s","ok":false,"kind":"tool_result"}', "Error: Error: the tool call failed without saying why"),
            (b'{"id":"%s","ok":false,"error":{"type":"E","status_code":"404"},"kind":"tool_result"}', "E: E: "),
            (b'{"id":"%s","ok":true,"value":' + b"[" * 200_000, "ValueError: ValueError: the answer cannot be read: "),
        ):  # fmt: skip
            with self.subTest(line[:60]):
                self.guest.start("print(attempt())")
                call_id = self.guest.next_call()["id"].encode()
                self.guest.send_line(line.replace(b"%s", call_id))
                self.assertTrue(self.guest.finish().stdout.startswith(expected))
        self.prints("print(call('echo', {'v': 1})['args'])", "{'v': 1}\n")

    def test_a_channel_that_was_made_non_blocking_works(self) -> None:
        self.prints(
            """
            import os, socket, stat
            for fd in map(int, os.listdir('/proc/self/fd')):
                try:
                    if stat.S_ISSOCK(os.fstat(fd).st_mode): os.set_blocking(fd, False)
                except OSError:
                    pass
            print(call('echo', {'v': 'x' * 3_000_000})['args']['v'] == 'x' * 3_000_000)
            """,
            "True\n",
        )
        self.prints("print('next')", "next\n")

    def test_a_timer_of_the_blocks_own_can_end_a_call(self) -> None:
        self.guest.start(
            """
            import signal
            def late(*_): raise TimeoutError('too slow')
            signal.signal(signal.SIGALRM, late)
            for _ in range(20):
                signal.setitimer(signal.ITIMER_REAL, 0.005)
                try:
                    call('slow', {})
                except TimeoutError as error:
                    last = error
            print(last, call('echo', {}))
            """
        )
        slow = [self.guest.next_call() for _ in range(20)]
        call = self.guest.next_call()
        for one in slow:
            self.guest.reply(one, "late")
        self.guest.reply(call, "fine")
        self.assertEqual(self.guest.finish().stdout, "too slow fine\n")

    def test_a_timer_that_strikes_in_a_large_frame_tears_only_that(self) -> None:
        self.guest.start(
            """
            import signal
            def late(*_):
                open('struck', 'w').close()
                raise TimeoutError('too slow')
            signal.signal(signal.SIGALRM, late)
            big = {'v': 'x' * 30_000_000}
            signal.setitimer(signal.ITIMER_REAL, 1)
            try:
                call('put', big)
            except TimeoutError as error:
                print(error)
            print(call('echo', {}))
            """
        )
        # Nothing is read for as long as the timer takes, and the frame does not fit into the socket.
        wait_until((self.guest.workspace / "struck").exists, "the timer")
        line = self.guest.next_line()
        self.assertEqual(line[:19], b'{"id":"1","name":"p')
        self.assertLess(len(line), 30_000_000)
        call = self.guest.next_call()
        self.guest.reply(call, "fine")
        self.assertEqual(self.guest.finish().stdout, "too slow\nfine\n")

    def test_the_end_of_the_channel_ends_the_guest(self) -> None:
        self.guest.connection.close()
        self.assertEqual(self.guest.wait_exit(), 0)

    def test_the_end_of_the_channel_in_a_block_ends_the_guest(self) -> None:
        for code in (
            ("while True: pass", "import time; time.sleep(1000)")
            if self.kind == "standalone"
            else ()
        ):
            with self.subTest(code):
                guest = self.start_guest()
                guest.start(code)
                guest.connection.close()
                self.assertEqual(guest.wait_exit(), 1)
        for code in (
            "call('echo', {})",
            "while True:\n    try: call('echo', {})\n    except BaseException: pass",
            "import threading\nthreading.Thread(target=call, args=('echo', {})).start()\nthreading.Event().wait()",
        ):
            with self.subTest(code):
                guest = self.start_guest()
                guest.start(code)
                guest.next_call()
                guest.connection.close()
                self.assertEqual(guest.wait_exit(), 1)

    def test_a_shutdown_ends_the_guest(self) -> None:
        self.guest.send({"kind": "shutdown", "reason": "later hosts may say"})
        self.assertEqual(self.guest.wait_exit(), 0)

    def test_a_shutdown_in_a_block_waits_for_its_end(self) -> None:
        self.guest.start("print(call('echo', {}))")
        call = self.guest.next_call()
        self.guest.send({"kind": "shutdown"})
        self.guest.reply(call, 5)
        self.assertEqual(self.guest.finish().stdout, "5\n")
        self.assertEqual(self.guest.wait_exit(), 0)


class PipedCalls(Calls):
    kind = "piped"

    def test_a_closed_channel_is_opened_again(self) -> None:
        self.prints(
            """
            import os
            os.closerange(3, 256)
            print(call('echo', {'v': 1})['args'])
            os.closerange(3, 256)
            """,
            "{'v': 1}\n",
        )
        self.prints("print(call('echo', {'v': 2})['args'])", "{'v': 2}\n")

    def test_a_channel_that_is_closed_while_a_thread_waits_for_an_answer_is_opened_again(
        self,
    ) -> None:
        self.guest.start(
            """
            import os, threading
            answers = []
            thread = threading.Thread(target=lambda: answers.append(call('slow', {})))
            thread.start()
            call('fast', {})
            os.closerange(3, 256)
            answers.append(call('fast', {}))
            thread.join()
            print(answers)
            """
        )
        calls = {call["name"]: call for call in (self.guest.next_call(), self.guest.next_call())}
        self.guest.reply(calls["fast"])
        again = self.guest.next_call()
        self.guest.reply(again, "fast")
        self.guest.reply(calls["slow"], "slow")
        self.assertEqual(sorted(eval(self.guest.finish().stdout)), ["fast", "slow"])


class CallsWithLittleMemory(GuestCase):
    def test_an_answer_for_which_there_is_no_memory_fails_its_call_alone(self) -> None:
        self.guest.run(CALL)
        self.guest.start(
            """
            import resource
            size = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (size + 60_000_000, -1))
            try:
                call('big', {})
            except ToolError as error:
                print(error.error_type)
            except MemoryError:
                print('MemoryError')
            resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
            print(call('echo', {}))
            """
        )
        call = self.guest.next_call()
        self.guest.reply(call, "x" * 80_000_000)
        self.guest.reply(self.guest.next_call(), "fine")
        self.assertEqual(self.guest.finish().stdout, "MemoryError\nfine\n")


if __name__ == "__main__":
    unittest.main()
