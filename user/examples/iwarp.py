#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""iwarp.py [-c] HOST [PORT]: an RDMA client without an RDMA device.

iWARP is RDMA over TCP, so a socket is enough: this program WRITEs eight bytes into the memory of
an rtgt target on siw, READs them back, and has the target compute their CRC-32.  It builds each
frame itself and was written from Documentation/protocol.rst and Documentation/iwarp.rst.
With -c it requests the CRCs of MPA.
"""
import socket
import struct
import sys
import time
import zlib

# RDMAP operations (RFC 5040, 4.1), and the queue that each untagged one goes to
WRITE, READ, READ_RESPONSE, SEND, TERMINATE = 0, 1, 2, 3, 7
QUEUE = {SEND: 0, READ: 1}
CHECKSUM, DISCONNECT, EXTENTS, REPLY = 2, 8, 9, 0x80
SINK = 0x1234, 0x8000  # STag and offset that the READ response is to go to: both are ours to choose


def crc32c(data):
    """The CRC of MPA, its lowest byte first.  zlib's has another polynomial."""
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return struct.pack("<I", crc ^ 0xffffffff)


class Connection:
    """MPA over a TCP connection (RFC 5044): frames with a length, padding and a CRC field."""

    def __init__(self, host, port, crc):
        self.tcp = socket.create_connection((host, port), timeout=10)
        self.tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.msn = {SEND: 0, READ: 0}
        self.crc = crc

    def take(self, length):
        """That many bytes of the stream."""
        data = b""
        end = time.monotonic() + 10
        while len(data) < length:
            try:
                more = self.tcp.recv(length - len(data))
            except TimeoutError:
                if time.monotonic() > end:
                    sys.exit("the target is silent")
                # siw may not have read the first message: Documentation/findings/siw-first-fpdu.rst
                self.write(0, 0, b"")
                continue
            if not more:
                sys.exit("the target closed the connection")
            data += more
        return data

    def start(self, private):
        """Exchange MPA Request and Reply; the Reply's private data.

        No markers; CRCs are in use if one end requests them (flag C).  Revision 2 with the flag S,
        since READs are agreed on in front of the private data: one towards us (IRD), one towards
        the target (ORD) (RFC 6581, 9.1).
        """
        private = struct.pack("!HH", 1, 1) + private
        flags = 0x50 if self.crc else 0x10
        self.tcp.sendall(struct.pack("!16sBBH", b"MPA ID Req Frame", flags, 2, len(private)) + private)
        key, flags, _, length = struct.unpack("!16sBBH", self.take(20))
        private = self.take(length)[4:]
        self.crc |= bool(flags & 0x40)
        if key != b"MPA ID Rep Frame" or flags & 0xb0 != 0x10:
            sys.exit(f"not accepted: flags {flags:#x}, private data {private.hex()}")
        self.tcp.settimeout(0.1)
        return private

    def frame(self, ddp):
        """One FPDU.  Its length does not count itself, the padding and the CRC, which may be unused."""
        fpdu = struct.pack("!H", len(ddp)) + ddp
        fpdu += bytes(-len(fpdu) % 4)
        self.tcp.sendall(fpdu + (crc32c(fpdu) if self.crc else bytes(4)))

    def untagged(self, opcode, payload):
        """A whole message in one segment: DDP flags (last), RDMAP version and opcode (RFC 5041, 4.3)."""
        self.msn[opcode] += 1
        self.frame(struct.pack("!BBIIII", 0x41, 0x40 | opcode, 0, QUEUE[opcode], self.msn[opcode], 0) + payload)

    def write(self, stag, offset, data):
        """RDMA WRITE: a tagged segment (RFC 5041, 4.2), which has no answer of its own."""
        self.frame(struct.pack("!BBIQ", 0xc1, 0x40 | WRITE, stag, offset) + data)

    def message(self, wanted):
        """The payload of the next message; its segments come in order."""
        data = b""
        while True:
            head = self.take(4)
            length, flags, opcode = struct.unpack("!HBB", head)
            rest = self.take(length - 2 + -(length + 2) % 4 + 4)
            if self.crc and crc32c(head + rest[:-4]) != rest[-4:]:
                sys.exit("the CRC of an FPDU is wrong")
            rest = rest[:length - 2]
            if opcode & 0xf == TERMINATE:
                sys.exit(f"the target's device refused: Terminate {rest[16:].hex()}")
            if opcode & 0xf != wanted:
                sys.exit(f"RDMAP opcode {opcode & 0xf} instead of {wanted}")
            data += rest[12 if flags & 0x80 else 16:]
            if flags & 0x40:
                self.tcp.settimeout(10)
                return data

    def read(self, stag, offset, length):
        """RDMA READ: what to send, and where to."""
        self.untagged(READ, struct.pack("!IQIIQ", *SINK, length, stag, offset))
        return self.message(READ_RESPONSE)

    def request(self, op, body):
        """SEND a message of rtgt; the body of its reply."""
        self.untagged(SEND, struct.pack("!BBHIII", 1, op, 0, 1, len(body), 0) + body)
        if op == DISCONNECT:
            return None
        reply = self.message(SEND)
        _, answers, status, _, length, _ = struct.unpack("!BBHIII", reply[:16])
        if answers != op | REPLY or status:
            sys.exit(f"the reply has op {answers:#x} and status {status}")
        return reply[16:16 + length]


def main():
    """WRITE, READ, CHECKSUM."""
    crc = sys.argv[1:2] == ["-c"]
    where = sys.argv[2 if crc else 1:]
    if len(where) not in (1, 2):
        sys.exit(__doc__.splitlines()[0])
    target = Connection(where[0], int(where[1]) if len(where) == 2 else 7471, crc)
    rep = target.start(struct.pack("!IHHII", 0x52544754, 1, 16, 0, 0))
    if rep[20:24] != bytes.fromhex("52544754"):
        sys.exit("that is no rtgt target")
    # region 0, from its first extent on, one extent
    extents = target.request(EXTENTS, struct.pack("!IIII", 0, 0, 1, 0))
    addr, rkey, length = struct.unpack("!QIQ", extents[-20:])
    print(f"region 0: {length} bytes at {addr:#x}, rkey {rkey:#010x}")
    data = b"\x01\x02\x03\x04\x05\x06\x07\x08"
    target.write(rkey, addr, data)
    back = target.read(rkey, addr, len(data))
    print(f"written {data.hex()}, read {back.hex()}")
    reply = target.request(CHECKSUM, struct.pack("!IIQQ", 0, 0, 0, len(data)))
    crc, = struct.unpack("!I", reply[:4])
    print(f"the target's CRC-32 is {crc:#010x}, mine {zlib.crc32(data):#010x}")
    target.request(DISCONNECT, b"")
    sys.exit(back != data or crc != zlib.crc32(data))


try:
    main()
except OSError as error:
    sys.exit(f"{sys.argv[0]}: {error}")
