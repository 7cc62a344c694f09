#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# library.sh: librtgt, as other programs use it: the example programs, and what they cannot show,
# from Python (user/python/rtgt.py).
#
# weight 2.4 4.7

. "${0%/*}/lib.sh"

PYTHON=${RTGT_PYTHON:-/usr/bin/python3}

# In the folder of the tools lie the library and its binding.
libraries() {
	need_command "$PYTHON"
	LIBS=$(command -v rtgt)
	LIBS=${LIBS%/*}
	[[ -e $LIBS/librtgt.so.1 && -e $LIBS/rtgt.py ]] || skip "librtgt.so.1 and rtgt.py are not beside rtgt"
}

# Runs what stands on standard input, with HOST, PORT and SOURCE, after what all of it needs.
python() {
	libraries
	{
		printf 'import os, select, threading, time, errno, rtgt\nHOST, PORT, SOURCE, FAULTS, IWARP, FLUSH = "%s", %s, "%s", "%s", %s, %s\n' \
			"$RTGT_TARGET_ADDR" "$CM_PORT" "$RTGT_CLIENT_ADDR" "$CONFIGFS/ports/$PORT/faults" \
			"$(is_iwarp && echo True || echo False)" "$(has_feature flush && echo True || echo False)"
		cat <<-'EOT'
		def domain(**params):
		    return rtgt.Domain(HOST, PORT, SOURCE, **{"timeout_ms": 10000, **params})
		def fault(rule):
		    with open(FAULTS, "w") as faults:
		        faults.write(rule)
		def fails(number, words, function, *args, **named):
		    try:
		        function(*args, **named)
		    except rtgt.Error as error:
		        assert number in (None, error.errno), f"{error}, not {errno.errorcode[number]}"
		        assert words in str(error), error
		        return error
		    raise AssertionError(f"no error where there should be one: {number}")
		def whole(c, number):
		    done = []
		    while len(done) < number:
		        done += c.wait(20000)
		    return done
		EOT
		cat
	} >"$WORK/program.py"
	RTGT_LIBRARY=$LIBS/librtgt.so.1 PYTHONPATH=$LIBS PYTHONDONTWRITEBYTECODE=1 "$PYTHON" "$WORK/program.py" >"$WORK/said" 2>&1 ||
		fail "$(<"$WORK/said")"
}

port_for() {
	local access=read,write
	is_iwarp || access+=,atomic
	! has_feature flush || access+=,flush
	target_port region mem size=64K "access=$access"
}

examples() {
	port_for
	libraries
	rtgt-example-library "$RTGT_TARGET_ADDR" "$CM_PORT" "$RTGT_CLIENT_ADDR" >"$WORK/said" 2>&1 || fail "$(<"$WORK/said")"
	grep -q "^4096 bytes written and read back, CRC-32 0x" "$WORK/said" || fail "$(<"$WORK/said")"
	rtgt-example-events "$RTGT_TARGET_ADDR" "$CM_PORT" "$RTGT_CLIENT_ADDR" 100 >"$WORK/said" 2>&1 || fail "$(<"$WORK/said")"
	same "events" "$(<"$WORK/said")" "100 and 100 WRITEs of 4096 bytes"
	RTGT_LIBRARY=$LIBS/librtgt.so.1 PYTHONPATH=$LIBS PYTHONDONTWRITEBYTECODE=1 "$PYTHON" "$LIBS/rtgt-example-python" \
		"$RTGT_TARGET_ADDR" "$CM_PORT" "$RTGT_CLIENT_ADDR" >"$WORK/said" 2>&1 || fail "$(<"$WORK/said")"
	same "python" "$(<"$WORK/said")" "4096 bytes written and read back"
	expect_no_connections
	same "connections" "$(counter conns_accepted)" 4
}

# Every operation, and what it leaves; all of them outstanding at once where they do not meet.
operations() {
	port_for
	python <<-'EOT'
	with domain() as d, d.buffer(16384, rtgt.PULL | rtgt.PUSH) as b, d.connect(depth=8) as c:
	    facts = c.region()
	    assert facts.len == 65536 and facts.access & 3 == 3 and c.regions == 1 and c.number, facts
	    b[:] = bytes(i * 7 % 256 for i in range(16384))
	    wrote = b[:]
	    c.run("write", b)
	    assert c.run("checksum", len=16384).crc == rtgt.crc32(wrote)
	    b[:] = b"U" * 16384
	    done = c.run("read", b)
	    assert b[:] == wrote and done.len == 16384 and done.completion_ns and not done.reply_ns
	    done = c.run("echo", b, len=1000, local=100, back=8192)
	    assert b[8192:9192] == wrote[100:1100] and done.reply_ns
	    c.run("pull", b, len=4096, remote=20000)
	    assert c.run("checksum", len=4096, remote=20000).crc == rtgt.crc32(b[:4096])
	    b[:4096] = bytes(4096)
	    c.run("push", b, len=4096, remote=20000)
	    assert b[:4096] == wrote[:4096]
	    if facts.access & rtgt.ATOMIC:
	        b[300:600] = bytes(range(150)) * 2
	        c.run("write_imm", b, len=300, local=300, remote=30000)
	        assert c.run("checksum", len=300, remote=30000).crc == rtgt.crc32(b[300:600])
	        b[:8] = (5).to_bytes(8, "little")
	        c.run("write", b, len=8, remote=40000)
	        c.run("faa", b, len=8, remote=40000, local=64, compare_add=3)
	        assert int.from_bytes(b[64:72], "little") == 5
	        c.run("cas", b, len=8, remote=40000, local=64, compare_add=8, swap=9)
	        assert int.from_bytes(b[64:72], "little") == 8
	        c.run("read", b, len=8, remote=40000, local=64)
	        assert int.from_bytes(b[64:72], "little") == 9
	    for work, bit in ("atomic_write", 0), ("flush", rtgt.FLUSH):
	        if FLUSH:
	            c.run(work, b, len=8, local=128, remote=48000)
	        else:
	            fails(errno.EOPNOTSUPP, "the device has no", c.submit, work, b, len=8)
	    if FLUSH:
	        assert c.run("checksum", len=8, remote=48000).crc == rtgt.crc32(b[128:136])
	    if not facts.access & rtgt.ATOMIC:
	        for work in "write_imm", "cas", "faa":
	            fails(errno.EOPNOTSUPP, "the device has no", c.submit, work, b, len=8)
	    b[:8192] = os.urandom(8192)
	    for i in range(8):
	        c.submit("write" if i % 2 else "echo", b, id=100 + i, len=512, local=512 * i, remote=512 * i, back=8192 + 512 * i)
	    assert c.outstanding == 8
	    fails(errno.EAGAIN, "8 operations are outstanding", c.submit, "write", b)
	    fails(errno.EBUSY, "operations use the buffer", b.close)
	    fails(errno.EBUSY, "2 buffers and connections", d.close)
	    ids = []
	    while c.outstanding:
	        ids += [done.id for done in c.wait(5000) if not done.error]
	    assert sorted(ids) == list(range(100, 108)), ids
	    for i in range(8):
	        if i % 2:
	            assert c.run("checksum", len=512, remote=512 * i).crc == rtgt.crc32(b[512 * i:512 * i + 512])
	        else:
	            assert b[8192 + 512 * i:8704 + 512 * i] == b[512 * i:512 * i + 512]
	    fails(errno.ENOENT, "nothing is outstanding", c.wait, 0)
	    c.close()
	    try:
	        c.submit("write", b)
	    except ValueError as error:
	        assert "closed" in str(error)
	    else:
	        raise AssertionError("a closed connection took a WRITE")
	EOT
	expect_no_connections
	same "failures" "$(counter qp_errors) $(counter send_errors)" "0 0"
}

# Wrong values are refused here, what the target refuses is an error of the operation alone.
refused() {
	target_port region mem size=64K access=read,write region other size=4096 access=write
	python <<-'EOT'
	with domain() as d, d.buffer(4096) as b, d.connect(payload=100) as c:
	    for number, words, work, fields in (
	            (errno.ERANGE, "the region has 65536", "write", {"remote": 65000}),
	            (errno.ERANGE, "of a buffer of 4096", "read", {"local": 1}),
	            (errno.ERANGE, "at most 100", "echo", {"len": 101}),
	            (errno.EINVAL, "it has 8", "cas", {"len": 4}),
	            (errno.EINVAL, "work.type is 12", 12, {}),
	            (errno.EINVAL, "region 2: the target has 2", "write", {"region": 2}),
	            (errno.EINVAL, "work.flags 0x8", "write", {"flags": 8}),
	            (errno.EACCES, "RTGT_BUFFER_PUSH", "push", {})):
	        fails(number, words, c.submit, work, b, **fields)
	    fails(errno.EINVAL, "without a buffer", c.submit, "write", len=1)
	    fails(errno.EINVAL, "1 to", d.buffer, 0)
	    fails(errno.EINVAL, "depth is 1025", d.connect, depth=1025)
	    fails(errno.EINVAL, "timeout_ms is -1", d.connect, timeout_ms=-1)
	    fails(errno.EINVAL, "params.flags 0x2", d.connect, flags=2)
	    with domain() as other, other.buffer(64) as foreign:
	        fails(errno.EXDEV, "another domain", c.submit, "write", foreign)
	    error = fails(errno.EREMOTEIO, "the target refused the CHECKSUM", c.run, "checksum", region=1, len=64)
	    assert error.target_status == 10 and error.done.target_status == 10, error.target_status
	    c.run("write", b)
	    # over iWARP a WRITE is done when TCP has it, and what the target refuses ends the connection
	    error = fails(None if IWARP else errno.EIO, "" if IWARP else "remote", c.run, "read", b, remote=65000, flags=rtgt.F_UNCHECKED)
	    assert IWARP or error.wc_status in (9, 10, 11), error.wc_status
	    fails(None if IWARP else errno.EIO, "", c.submit, "write", b)
	    with d.connect() as again:
	        again.run("write", b)
	        # the one that failed says why, those behind it that the connection has ended
	        again.submit("read", b, id=1, remote=65000, flags=rtgt.F_UNCHECKED)
	        for i in 2, 3, 4:
	            again.submit("read", b, id=i)
	        ends = {}
	        while again.outstanding:
	            ends.update((done.id, done) for done in again.wait(20000))
	        assert sorted(ends) == [1, 2, 3, 4] and all(done.error and not done.len for done in ends.values()), ends
	        assert IWARP or ends[1].wc_status in (9, 10, 11), str(ends[1])
	        assert IWARP or all(ends[i].error == -errno.ECONNRESET and not ends[i].wc_status for i in (2, 3, 4)), str(ends[2])
	EOT
	expect_no_connections
}

# A reply that comes after its waiter gave up is still its own.
late() {
	port_for
	python <<-'EOT'
	with domain() as d, d.buffer(4096) as b, d.connect() as c:
	    fault("reply-delay every 1 for 1 ms 1000")
	    b[:] = os.urandom(4096)
	    c.submit("echo", b, id=1, len=64, back=1024)
	    fails(errno.ETIMEDOUT, "1 operations are outstanding", c.wait, 50)
	    c.submit("echo", b, id=2, len=64, local=64, back=2048)
	    ids = []
	    while c.outstanding:
	        ids += [done.id for done in c.wait(20000) if not done.error]
	    assert sorted(ids) == [1, 2], ids
	    assert b[1024:1088] == b[:64] and b[2048:2112] == b[64:128]
	EOT
	expect_no_connections
}

# One descriptor for all connections of a loop; each connection has its own completions.
event_loop() {
	port_for
	python <<-'EOT'
	with domain() as d, d.buffer(65536) as b:
	    conns = [d.connect(depth=4) for _ in range(3)]
	    of, left, got = {c.fileno(): c for c in conns}, {c: 40 for c in conns}, {c: 0 for c in conns}
	    poll = select.poll()
	    for fd in of:
	        poll.register(fd, select.POLLIN)
	    def turn(c):
	        while True:
	            while left[c] and c.outstanding < 4:
	                c.submit("echo" if left[c] % 3 == 0 else "write", b, len=1000, back=2000)
	                left[c] -= 1
	            done = c.complete()
	            assert not any(one.error for one in done), done[0]
	            got[c] += len(done)
	            if not done:
	                return
	    for c in conns:
	        turn(c)
	    while any(c.outstanding for c in conns):
	        ready = poll.poll(20000)
	        assert ready, "nothing came"
	        for fd, _ in ready:
	            turn(of[fd])
	    assert set(got.values()) == {40}, got.values()
	    # the SEND has completed long before its reply comes, which must wake us once more
	    fault("reply-delay every 1 ms 300")
	    conns[0].submit("echo", b, len=1000, back=2000)
	    done = conns[0].complete()
	    while not done:
	        assert poll.poll(20000), "nothing woke us"
	        done = conns[0].complete()
	    assert len(done) == 1 and not done[0].error, done[0]
	    for c in conns:
	        c.close()
	    fault("off")
	    # who wants the descriptor when all is done, and who waits for it and then calls wait()
	    with d.connect() as c, d.connect() as other:
	        c.submit("write", b, len=64)
	        for n in range(20):
	            other.run("echo", b, len=64, local=1000, back=2000)
	        for n in range(3):
	            assert select.select([c], [], [], 20)[0], f"nothing woke us, {n}"
	            assert [done.error for done in c.wait(20000)] == [0]
	            c.submit("write", b, len=64)
	        assert len(c.wait(20000)) == 1
	        for n in range(100):
	            if not select.select([c], [], [], 0)[0]:
	                break
	            fails(errno.ENOENT, "nothing", c.wait, 0)
	        else:
	            raise AssertionError("readable, and nothing is there")
	EOT
	expect_no_connections
}

# The caller's descriptor ends connecting and waiting, and nothing is lost.
canceled() {
	port_for
	python <<-'EOT'
	end, start = os.pipe()
	with domain(cancel_fd=end) as d, d.buffer(64) as b, d.connect() as c:
	    fault("reply-drop every 1")
	    c.submit("echo", b, len=8)
	    threading.Timer(0.2, os.write, (start, b"x")).start()
	    fails(errno.ECANCELED, "1 operations are outstanding", c.wait, -1)
	    fails(errno.ECANCELED, "canceled", d.connect)
	    os.read(end, 1)
	    fails(errno.ETIMEDOUT, "", c.wait, 10)
	    assert c.outstanding == 1
	    # what came while it was canceled is not lost
	    fault("off")
	    fault("reply-delay every 1 ms 300")
	    with d.connect(depth=4) as late:
	        for n in range(3):
	            late.submit("echo", b, len=8)
	        os.write(start, b"x")
	        done = []
	        while len(done) < 2:
	            try:
	                done += late.wait(5000, 1)
	            except rtgt.Error as error:
	                assert error.errno == errno.ECANCELED, error
	        os.read(end, 1)
	        while len(done) < 3:
	            done += late.wait(20000)
	EOT
	expect_no_connections
}

# A range that crosses from one capability into the next is one operation, and none gets between.
extents() {
	target_port recv_size=8K mr_max=4K region mem size=256K access=read,write
	python <<-'EOT'
	with domain() as d, d.buffer(200000) as b, d.connect() as c:
	    assert c.region().len == 262144
	    # a reply may be larger than a list of extents
	    b[:4000] = os.urandom(4000)
	    c.run("echo", b, len=4000, back=100000)
	    assert b[:4000] == b[100000:104000]
	    b[:] = os.urandom(200000)
	    wrote = b[:200000]
	    # more work requests than the send queue holds
	    c.submit("write", b, len=200000, remote=3000)
	    try:
	        c.submit("checksum", id=1, len=20000, remote=3000)
	    except rtgt.Error as error:
	        assert error.errno == errno.EAGAIN and "several extents" in str(error), error
	    while c.outstanding:
	        for done in c.wait(20000):
	            assert done.len == (20000 if done.id else 200000), str(done)
	    assert c.run("checksum", len=200000, remote=3000).crc == rtgt.crc32(wrote)
	    b[:] = bytes(200000)
	    c.run("read", b, len=200000, remote=3000)
	    assert b[:] == wrote
	    # so many at once that the last of them waits for nobody
	    for n in range(3):
	        c.submit("write", b, len=4096, local=n * 4096, remote=n * 4096, flags=rtgt.F_UNSIGNALED)
	    fails(errno.EDEADLK, "ask for no completion", c.wait, 20000)
	    c.submit("read", b, id=7, len=100, local=100000, remote=10)
	    assert sorted(done.id for done in whole(c, 4)) == [0, 0, 0, 7]
	    assert c.run("checksum", len=3 * 4096).crc == rtgt.crc32(wrote[:3 * 4096])
	    # what completes behind a READ does not say that its bytes are here
	    for n in range(20):
	        b[100000:200000] = bytes(100000)
	        c.submit("read", b, id=1, len=100000, local=100000, remote=103000, flags=rtgt.F_UNSIGNALED if n % 2 else 0)
	        for i in range(2, 6):
	            c.submit("write", b, id=i, len=8, remote=210000)
	        ids = set()
	        while c.outstanding:
	            for done in c.wait(20000):
	                ids.add(done.id)
	                assert done.id != 1 or b[100000:200000] == wrote[100000:], n
	        assert ids == {1, 2, 3, 4, 5}
	    # more than the send queue holds: some ask for a completion all the same
	    for n in range(100):
	        b[:64] = os.urandom(64)
	        assert c.run("echo", b, len=64, back=64, flags=rtgt.F_UNSIGNALED).reply_ns
	        assert b[:64] == b[64:128], n
	    if not IWARP:
	        c.run("write_imm", b, len=9000, remote=4000, local=100)
	        assert c.run("checksum", len=9000, remote=4000).crc == rtgt.crc32(b[100:9100])
	    fails(errno.ERANGE, "the region has 262144", c.submit, "write", b, len=20000, remote=250000)
	EOT
	expect_no_connections
}

# What the target READs or WRITEs takes its time, and it answers others meanwhile.
pull_and_echo() {
	local size=8388608
	target_port recv_depth=64 region mem "size=$size"
	python <<-EOT
	with domain() as d, d.buffer($size, rtgt.PULL) as b, d.buffer(8192) as small, d.connect(depth=50) as c:
	    b[:] = os.urandom(4096) * ($size // 4096)
	    c.submit("pull", b, id=1, len=$size)
	    for n in range(2, 50):
	        c.submit("echo", small, id=n, len=64, local=64 * n, back=4096 + 64 * n)
	    between = 0
	    pulled = False
	    while not pulled:
	        for done in c.wait(30000):
	            assert not done.error, str(done)
	            pulled |= done.id == 1
	            if done.id != 1:
	                between += 1
	                c.submit("echo", small, id=done.id, len=64, local=64 * done.id, back=4096 + 64 * done.id)
	    whole(c, c.outstanding)
	    assert between > 20, between
	    assert c.run("checksum", len=$size, timeout_ms=30000).crc == rtgt.crc32(b[:])
	EOT
	expect_no_connections
}

# When the target closes the connection all operations end, and nothing can be submitted any more.
closed() {
	port_for
	python <<-'EOT'
	for flags in 0, rtgt.BUSY_POLL:
	    with domain() as d, d.buffer(4096) as b, d.connect(flags=flags, port=PORT) as c:
	        if flags:
	            fails(errno.EBADF, "it polls", c.fileno)
	        try:
	            c.submit("write", b, len=8, region=1 << 32)
	            raise AssertionError("a region of more than 32 bits was taken")
	        except ValueError as error:
	            assert "region" in str(error)
	        fault("disconnect every 1")
	        c.submit("echo", b, id=7, len=8)
	        c.submit("checksum", id=8, len=8)
	        done = []
	        if not flags:
	            # the descriptor wakes who waits for nothing else
	            poll, until = select.poll(), time.monotonic() + 20
	            poll.register(c.fileno(), select.POLLIN)
	            while len(done) < 2 and time.monotonic() < until:
	                assert poll.poll(20000), "nothing woke us"
	                done += c.complete()
	        while len(done) < 2:
	            done += c.wait(20000)
	        assert sorted(one.id for one in done) == [7, 8] and all(one.error for one in done), [str(one) for one in done]
	        assert c.outstanding == 0
	        try:
	            c.submit("write", b)
	        except rtgt.Error as error:
	            assert error.errno in (errno.ECONNRESET, errno.EIO), error
	        else:
	            raise AssertionError("a WRITE was submitted")
	        b.close()
	        fault("off")
	# who only asks now and then
	with domain() as d, d.buffer(4096) as b, d.connect() as c:
	    fault("disconnect every 1")
	    c.submit("echo", b, len=8)
	    until = time.monotonic() + 20
	    while time.monotonic() < until:
	        try:
	            assert c.wait(0)[0].error
	            break
	        except rtgt.Error as error:
	            if error.errno != errno.ETIMEDOUT:
	                break
	    else:
	        raise AssertionError("it stands")
	    fault("off")
	EOT
	expect_no_connections
}

tcase examples "the programs in user/examples that use librtgt" examples
tcase operations "each operation of librtgt, and eight at once" operations
tcase refused "librtgt refuses wrong values, and tells what the target refused" refused
tcase late --more "a reply that comes late belongs to the operation that waits for it" late
tcase event-loop "three connections in one poll()" event_loop
tcase extents --more "a range over several extents is one operation of librtgt" extents
tcase pull-and-echo --more --serve-more "echoes are answered during a PULL, and the PULL behind them" pull_and_echo
tcase closed "the target closes the connection: all operations end, whoever waits and however" closed
tcase canceled --more "a descriptor of the caller's ends every wait" canceled

tmain "$@"
