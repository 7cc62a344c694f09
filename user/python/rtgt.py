# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""librtgt from Python: connect to a target, do operations to its regions.

    import rtgt
    with rtgt.Domain("192.0.2.1") as domain, domain.buffer(4096) as buffer, domain.connect() as conn:
        buffer[:5] = b"hello"
        conn.run("write", buffer, len=5)
        assert conn.run("checksum", len=5).crc == rtgt.crc32(b"hello")

The names are those of the header rtgt/rtgt.h without their prefixes, and say there what they mean.
What fails raises Error, an OSError with the library's sentence.  RTGT_LIBRARY names another library.
"""
import ctypes
import errno
import os
from ctypes import (POINTER, Structure, byref, c_char, c_char_p, c_int, c_int32, c_size_t, c_uint32,
                    c_uint64, c_void_p)

_lib = ctypes.CDLL(os.environ.get("RTGT_LIBRARY", "librtgt.so.1"), use_errno=True)

WORK = {name: number for number, name in enumerate(
    ("write", "read", "write_imm", "echo", "cas", "faa", "atomic_write", "flush", "checksum", "pull", "push"), 1)}
F_UNCHECKED, F_FENCE, F_UNSIGNALED = 1, 2, 4    # submit(flags=)
PULL, PUSH = 1, 2                               # Domain.buffer(flags)
BUSY_POLL = 1                                   # Domain.connect(flags=)
READ, WRITE, ATOMIC, FLUSH = 1, 2, 4, 8         # Region.access


class _Err(Structure):
    _fields_ = [("code", c_int), ("wc_status", c_int), ("vendor_err", c_uint32), ("target_status", c_int),
                ("reject", c_uint32), ("reserved", c_uint32 * 3), ("text", c_char * 512)]


class _Params(Structure):
    _fields_ = [("size", c_uint32), ("flags", c_uint32), ("host", c_char_p), ("port", c_char_p),
                ("source", c_char_p), ("timeout_ms", c_int), ("depth", c_uint32), ("payload", c_uint32),
                ("cancel_fd", c_int)]


class _Work(Structure):
    _fields_ = [("size", c_uint32), ("type", c_uint32), ("id", c_uint64), ("flags", c_uint32),
                ("region", c_uint32), ("remote", c_uint64), ("len", c_uint64), ("buffer", c_void_p),
                ("local", c_uint64), ("back", c_uint64), ("compare_add", c_uint64), ("swap", c_uint64)]


class Done(Structure):
    """An operation that is done, or failed: .error is 0 or a negative errno."""
    _fields_ = [("id", c_uint64), ("type", c_uint32), ("error", c_int32), ("wc_status", c_int32),
                ("vendor_err", c_uint32), ("target_status", c_int32), ("crc", c_uint32), ("len", c_uint64),
                ("completion_ns", c_uint64), ("reply_ns", c_uint64), ("reserved", c_uint64 * 2)]

    def __str__(self):
        text = ctypes.create_string_buffer(512)
        _lib.rtgt_done_text(byref(self), text, len(text))
        return text.value.decode()


class Region(Structure):
    """A region of the target: .len, .access, .rkey."""
    _fields_ = [("len", c_uint64), ("access", c_uint32), ("rkey", c_uint32), ("reserved", c_uint64 * 2)]


def _fits(fields, given):
    """ctypes cuts a number that is too large."""
    for name, kind in fields:
        value = given.get(name)
        if isinstance(value, int) and (kind(value).value or 0) != value:
            raise ValueError(f"{name}: {value} is out of range")
    return given


class Error(OSError):
    """What the library said; .wc_status, .target_status, .reject and .done tell more where there is more."""
    def __init__(self, code, text, wc_status=0, target_status=0, done=None, reject=0):
        super().__init__(code, text)
        self.wc_status, self.target_status, self.done, self.reject = wc_status, target_status, done, reject


def _declare(name, result, *args):
    function = getattr(_lib, "rtgt_" + name)
    function.restype, function.argtypes = result, args


_E = POINTER(_Err)
_declare("domain_open", c_int, POINTER(c_void_p), POINTER(_Params), _E)
_declare("domain_close", c_int, c_void_p, _E)
_declare("domain_device", c_char_p, c_void_p)
_declare("buffer_create", c_int, POINTER(c_void_p), c_void_p, c_uint64, c_uint32, _E)
_declare("buffer_destroy", c_int, c_void_p, _E)
_declare("buffer_bytes", c_void_p, c_void_p)
_declare("connect", c_int, POINTER(c_void_p), c_void_p, POINTER(_Params), _E)
_declare("close", None, c_void_p)
_declare("conn_number", c_uint32, c_void_p)
_declare("conn_payload", c_uint32, c_void_p)
_declare("conn_regions", c_uint32, c_void_p)
_declare("conn_region", c_int, c_void_p, c_uint32, POINTER(Region), _E)
_declare("submit", c_int, c_void_p, POINTER(_Work), _E)
_declare("complete", c_int, c_void_p, POINTER(Done), c_uint32, _E)
_declare("wait", c_int, c_void_p, POINTER(Done), c_uint32, c_int, _E)
_declare("outstanding", c_uint32, c_void_p)
_declare("fd", c_int, c_void_p)
_declare("done_error", c_int, c_void_p, POINTER(Done), _E)
_declare("done_text", c_int, POINTER(Done), c_char_p, c_size_t)
_declare("crc32", c_uint32, c_uint32, c_char_p, c_size_t)
_declare("version", c_char_p)


def _call(name, *args):
    err = _Err()
    ret = getattr(_lib, "rtgt_" + name)(*args, byref(err))
    if ret < 0:
        raise Error(-ret, err.text.decode(errors="replace"), err.wc_status, err.target_status, reject=err.reject)
    return ret


def crc32(data, crc=0):
    data = bytes(data)
    return _lib.rtgt_crc32(crc, data, len(data))


def version():
    return _lib.rtgt_version().decode()


class _Handle:
    """What the library made: with-statements and close() release it, once."""
    def __init__(self, make, *args):
        self._made = None
        handle = c_void_p()
        _call(make, byref(handle), *args)
        self._made = handle

    @property
    def _handle(self):
        if self._made is None:
            raise ValueError("it is closed")
        return self._made

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Domain(_Handle):
    """A device and a protection domain; connect() and buffer() make what uses it."""
    def __init__(self, host, port=None, source=None, **params):
        self._where = {"host": host, "port": port, "source": source, **params}
        super().__init__("domain_open", byref(self._params()))

    def _params(self, **more):
        values = {**self._where, **more}
        if values["port"] is not None:
            values["port"] = str(values["port"])
        values = {key: value.encode() if isinstance(value, str) else value
                  for key, value in values.items()}
        return _Params(size=ctypes.sizeof(_Params), **values)

    @property
    def device(self):
        return _lib.rtgt_domain_device(self._handle).decode()

    def buffer(self, length, flags=0):
        return Buffer(self, length, flags)

    def connect(self, **params):
        return Connection(self, self._params(**params))

    def close(self):
        if self._made:
            _call("domain_close", self._made)
        self._made = None


class Buffer(_Handle):
    """Registered memory: slices of it are bytes."""
    def __init__(self, domain, length, flags=0):
        super().__init__("buffer_create", domain._handle, length, flags)
        self._domain = domain
        self._view = (c_char * length).from_address(_lib.rtgt_buffer_bytes(self._handle))

    def __len__(self):
        return len(self._view)

    def __getitem__(self, place):
        return self._view[place]

    def __setitem__(self, place, data):
        self._view[place] = data

    def close(self):
        if self._made:
            _call("buffer_destroy", self._made)
        self._made = self._view = None


class Connection(_Handle):
    def __init__(self, domain, params):
        super().__init__("connect", domain._handle, byref(params))
        self._domain = domain

    def submit(self, work, buffer=None, *, id=0, **fields):
        """Begin an operation of WORK; the fields are those of struct rtgt_work."""
        if buffer is not None:
            fields.setdefault("len", len(buffer))
        _call("submit", self._handle, byref(_Work(
            size=ctypes.sizeof(_Work), type=WORK[work] if isinstance(work, str) else work, id=id,
            buffer=buffer._handle if buffer is not None else None, **_fits(_Work._fields_, fields))))

    def complete(self, most=64):
        done = (Done * most)()
        return list(done[:_call("complete", self._handle, done, most)])

    def wait(self, timeout_ms=-1, most=64):
        _fits([("timeout_ms", c_int)], {"timeout_ms": timeout_ms})
        done = (Done * most)()
        return list(done[:_call("wait", self._handle, done, most, timeout_ms)])

    def run(self, work, buffer=None, *, timeout_ms=10000, **fields):
        """Submit one operation, wait for it, and raise Error if it fails; nothing else is outstanding."""
        if self.outstanding:
            raise ValueError(f"{self.outstanding} operations are outstanding: wait() for them first")
        self.submit(work, buffer, **fields)
        done = self.wait(timeout_ms, 1)[0]
        if done.error:
            why = _Err()
            _lib.rtgt_done_error(self._handle, byref(done), byref(why))
            raise Error(why.code, why.text.decode(errors="replace"), why.wc_status, why.target_status, done)
        return done

    def region(self, number=0):
        facts = Region()
        _call("conn_region", self._handle, number, byref(facts))
        return facts

    def fileno(self):
        fd = _lib.rtgt_fd(self._handle)
        if fd < 0:
            raise Error(errno.EBADF, "no descriptor: it polls (BUSY_POLL), or too many files are open")
        return fd

    number = property(lambda self: _lib.rtgt_conn_number(self._handle))
    payload = property(lambda self: _lib.rtgt_conn_payload(self._handle))
    regions = property(lambda self: _lib.rtgt_conn_regions(self._handle))
    outstanding = property(lambda self: _lib.rtgt_outstanding(self._handle))

    def close(self):
        if self._made:
            _lib.rtgt_close(self._made)
        self._made = None
