#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The smallest program with librtgt in Python: library.py HOST [PORT [SOURCE]]

WRITE bytes into region 0 of a target, let the target compute their CRC-32, READ them back.
"""
import sys

import rtgt

LEN = 4096

try:
    with rtgt.Domain(*sys.argv[1:4]) as domain, domain.buffer(LEN) as buffer, domain.connect() as conn:
        wrote = bytes(i * 7 % 251 for i in range(LEN))
        buffer[:] = wrote
        conn.run("write", buffer)
        if conn.run("checksum", len=LEN).crc != rtgt.crc32(wrote):
            sys.exit("library.py: the target's bytes are not ours")
        buffer[:] = b"U" * LEN
        conn.run("read", buffer)
        if buffer[:] != wrote:
            sys.exit("library.py: the bytes that came back are not ours")
        print(f"{LEN} bytes written and read back")
except rtgt.Error as error:
    sys.exit(f"library.py: {error.strerror}")
