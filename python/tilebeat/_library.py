"""The shared library behind the package, by ctypes (include/tilebeat/tilebeat.h)."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import pathlib
from typing import Any, Callable, Mapping, Optional, Sequence

import numpy as np
import numpy.typing as npt

ABI = 1
OK, FAILED, INVALID, CANCELLED, BROKEN = range(5)

Array = npt.NDArray[Any]
#: Gets a line that the simulator says, or None ten times a second; a true answer cancels the call.
Progress = Callable[[Optional[str]], Optional[bool]]


class Error(Exception):
    """A call that came to nothing: an input is wrong, or the simulator could not run."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        #: The JSON path of what is wrong, such as "/chip/clusters"; empty: there is none.
        self.path = path


class Cancelled(Error):
    """The progress function wanted the end of the call."""


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_char_p),
        ("axes", ctypes.c_size_t),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("elements", ctypes.c_void_p),
        ("bytes", ctypes.c_size_t),
    ]


_ProgressCall = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)


class _Job(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("hardware", ctypes.c_char_p),
        ("workload", ctypes.c_char_p),
        ("mapping", ctypes.c_char_p),
        ("folder", ctypes.c_char_p),
        ("inputs", ctypes.POINTER(_Tensor)),
        ("input_count", ctypes.c_size_t),
        ("options", ctypes.POINTER(ctypes.c_char_p)),
        ("option_count", ctypes.c_size_t),
        ("progress", _ProgressCall),
        ("user", ctypes.c_void_p),
    ]


def bundled(name: str) -> pathlib.Path:
    """The path of a file that a wheel carries."""
    return pathlib.Path(__file__).parent / "bundled" / name


def _load() -> ctypes.CDLL:
    named = os.environ.get("TILEBEAT_LIBRARY")
    carried = bundled("libtilebeat.so.1")
    path = named or (str(carried) if carried.exists() else ctypes.util.find_library("tilebeat"))
    if path is None:
        raise ImportError("libtilebeat.so is not installed, and TILEBEAT_LIBRARY does not name it")
    library = ctypes.CDLL(path)
    library.tilebeat_abi.restype = ctypes.c_int
    if library.tilebeat_abi() != ABI:
        raise ImportError(f"{path} has version {library.tilebeat_abi()} of its interface, not {ABI}")
    result = ctypes.c_void_p
    for name in ("run", "plan", "whatif"):
        getattr(library, f"tilebeat_{name}").argtypes = [ctypes.POINTER(_Job), ctypes.POINTER(result)]
    library.tilebeat_command.argtypes = [
        ctypes.POINTER(ctypes.c_char_p),
        ctypes.c_size_t,
        _ProgressCall,
        ctypes.c_void_p,
        ctypes.POINTER(result),
    ]
    library.tilebeat_free.argtypes, library.tilebeat_free.restype = [result], None
    for name in ("text", "error", "error_path"):
        function = getattr(library, f"tilebeat_{name}")
        function.argtypes, function.restype = [result], ctypes.c_char_p
    library.tilebeat_document.argtypes = [result, ctypes.c_char_p]
    library.tilebeat_document.restype = ctypes.c_char_p
    library.tilebeat_tensor_count.argtypes = [result]
    library.tilebeat_tensor_count.restype = ctypes.c_size_t
    library.tilebeat_tensor_at.argtypes = [result, ctypes.c_size_t]
    library.tilebeat_tensor_at.restype = ctypes.POINTER(_Tensor)
    library.tilebeat_version.restype = ctypes.c_char_p
    return library


_library = _load()


def library_version() -> str:
    """The version of the shared library."""
    return str(_library.tilebeat_version().decode())


class Result:
    """What a call came to, copied out of the library."""

    def __init__(self, status: int, handle: ctypes.c_void_p, documents: Sequence[str]) -> None:
        self.status = status
        self.text = self._text(_library.tilebeat_text(handle))
        self.error = self._text(_library.tilebeat_error(handle))
        self.error_path = self._text(_library.tilebeat_error_path(handle))
        self.documents: dict[str, str] = {}
        for name in documents:
            text = _library.tilebeat_document(handle, name.encode())
            if text is not None:
                self.documents[name] = text.decode()
        self.tensors: dict[str, Array] = {}
        for index in range(_library.tilebeat_tensor_count(handle)):
            tensor = _library.tilebeat_tensor_at(handle, index).contents
            shape = tuple(tensor.shape[axis] for axis in range(tensor.axes))
            elements = ctypes.string_at(tensor.elements, tensor.bytes)
            dtype = np.dtype(tensor.type.decode())
            self.tensors[tensor.name.decode()] = np.frombuffer(elements, dtype).reshape(shape).copy()

    @staticmethod
    def _text(text: bytes | None) -> str:
        return text.decode(errors="replace") if text is not None else ""


class _Watch:
    """A progress function as C calls it: an exception in it cancels the call and is raised after it."""

    def __init__(self, progress: Progress | None) -> None:
        self.raised: BaseException | None = None
        self._progress = progress
        #: The function for C, or null.
        called: Callable[..., int] = self._called
        self.call = _ProgressCall(called) if progress is not None else _ProgressCall(0)

    def _called(self, _user: object, line: bytes | None) -> int:
        assert self._progress is not None
        try:
            return int(bool(self._progress(line.decode(errors="replace") if line is not None else None)))
        except BaseException as raised:  # it cannot pass through C
            self.raised = raised
            return 1


def _finish(status: int, handle: ctypes.c_void_p, documents: Sequence[str], watch: _Watch) -> Result:
    try:
        result = Result(status, handle, documents)
    finally:
        _library.tilebeat_free(handle)
    if watch.raised is not None:
        raise watch.raised
    if status == CANCELLED:
        raise Cancelled(result.error)
    if status in (INVALID, BROKEN):
        raise Error(result.error, result.error_path)
    return result


def _strings(texts: Sequence[str]) -> ctypes.Array[ctypes.c_char_p]:
    return (ctypes.c_char_p * max(1, len(texts)))(*[text.encode() for text in texts])


def call(
    command: str,
    documents: Sequence[str],
    hardware: str,
    workload: str,
    *,
    mapping: str | None = None,
    folder: str | None = None,
    inputs: Mapping[str, Array] | None = None,
    options: Sequence[str] = (),
    progress: Progress | None = None,
) -> Result:
    """Calls `tilebeat_run`, `tilebeat_plan` or `tilebeat_whatif`. Texts begin with {, else they are paths."""
    arrays = {name: np.ascontiguousarray(array) for name, array in (inputs or {}).items()}
    tensors = (_Tensor * max(1, len(arrays)))()
    shapes = [(ctypes.c_int64 * max(1, array.ndim))(*array.shape) for array in arrays.values()]
    for tensor, shape, (name, array) in zip(tensors, shapes, arrays.items()):
        tensor.name, tensor.type = name.encode(), array.dtype.name.encode()
        tensor.axes, tensor.shape = array.ndim, shape
        tensor.elements, tensor.bytes = array.ctypes.data, array.nbytes
    watch = _Watch(progress)
    job = _Job(
        ctypes.sizeof(_Job),
        hardware.encode(),
        workload.encode(),
        mapping.encode() if mapping is not None else None,
        folder.encode() if folder is not None else None,
        tensors,
        len(arrays),
        _strings(options),
        len(options),
        watch.call,
        None,
    )
    handle = ctypes.c_void_p()
    status = getattr(_library, f"tilebeat_{command}")(ctypes.byref(job), ctypes.byref(handle))
    return _finish(status, handle, documents, watch)


def command(arguments: Sequence[str], progress: Progress | None = None) -> Result:
    """Runs any command of the simulator with these arguments."""
    watch, handle = _Watch(progress), ctypes.c_void_p()
    status = _library.tilebeat_command(
        _strings(arguments), len(arguments), watch.call, None, ctypes.byref(handle)
    )
    return _finish(status, handle, (), watch)
