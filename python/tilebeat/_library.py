"""The shared library behind the package, by ctypes (include/tilebeat/tilebeat.h)."""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import os
import pathlib
import signal
import threading
from typing import Any, Callable, Iterator, Mapping, Optional, Sequence

import numpy as np
import numpy.typing as npt

ABI = 1
OK, FAILED, INVALID, CANCELLED, BROKEN = range(5)

Array = npt.NDArray[Any]
#: Gets each line that the simulator says, and None ten times a second; a true answer cancels the call.
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
    # What a variable names; what a wheel carries; what is installed below the same prefix, or in the system.
    places = [bundled("libtilebeat.so.1"), pathlib.Path(__file__).resolve().parents[3] / "libtilebeat.so.1"]
    found = next((str(place) for place in places if place.exists()), None)
    path = os.environ.get("TILEBEAT_LIBRARY") or found or ctypes.util.find_library("tilebeat")
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
    library.tilebeat_share.restype, library.tilebeat_state.restype = ctypes.c_double, ctypes.c_char_p
    return library


_library = _load()


def library_version() -> str:
    """The version of the shared library."""
    return str(_library.tilebeat_version().decode())


def share() -> tuple[float, str]:
    """Within a progress function: the share, 0 to 1, of what is under way, and what that is."""
    return float(_library.tilebeat_share()), _text(_library.tilebeat_state())


class Result:
    """What a call came to, copied out of the library."""

    def __init__(self, status: int, handle: ctypes.c_void_p, documents: Sequence[str]) -> None:
        self.status = status
        self.text = _text(_library.tilebeat_text(handle))
        self.error = _text(_library.tilebeat_error(handle))
        self.error_path = _text(_library.tilebeat_error_path(handle))
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


class _Watch:
    """A progress function as C calls it: an exception in it cancels the call and is raised after it. Ctrl-C
    cancels calls of the main thread."""

    def __init__(self, progress: Progress | None) -> None:
        self.raised: BaseException | None = None
        self._progress = progress
        called: Callable[..., int] = self._called
        self.call = _ProgressCall(called)

    def _called(self, _user: object, line: bytes | None) -> int:
        try:
            if self.raised is None and self._progress is not None:
                return int(bool(self._progress(_text(line) if line is not None else None)))
        except BaseException as raised:  # it cannot pass through C
            self.raised = raised
        return int(self.raised is not None)

    @contextlib.contextmanager
    def interruptible(self) -> Iterator[None]:
        """While it lasts, an interrupt is noted and not raised: Python would lose it inside of C's call."""
        in_main = threading.current_thread() is threading.main_thread()
        if not in_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            yield
            return

        def note(_number: int, _frame: object) -> None:
            self.raised = KeyboardInterrupt()

        signal.signal(signal.SIGINT, note)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _text(text: bytes | None) -> str:
    return text.decode(errors="replace") if text is not None else ""


def _finish(
    call: Callable[[ctypes.c_void_p], int], documents: Sequence[str], watch: _Watch
) -> Result:
    """Makes a call that fills a handle; raises where it came to nothing."""
    handle = ctypes.c_void_p()
    with watch.interruptible():
        try:
            status = call(handle)
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


def _bytes(text: str) -> bytes:
    """A text for C, which ends at the first 0."""
    if "\0" in text:
        raise ValueError("a text with a character 0")
    return os.fsencode(text)


def _strings(texts: Sequence[str]) -> ctypes.Array[ctypes.c_char_p]:
    return (ctypes.c_char_p * max(1, len(texts)))(*[_bytes(text) for text in texts])


def _for_c(array: Array) -> Array:
    """The elements in C order, the lowest byte first, in the array's shape."""
    array = np.asarray(array)
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(array.shape)


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
    arrays = {name: _for_c(array) for name, array in (inputs or {}).items()}
    tensors = (_Tensor * max(1, len(arrays)))()
    shapes = [(ctypes.c_int64 * max(1, array.ndim))(*array.shape) for array in arrays.values()]
    for tensor, shape, (name, array) in zip(tensors, shapes, arrays.items()):
        tensor.name, tensor.type = _bytes(name), array.dtype.name.encode()
        tensor.axes, tensor.shape = array.ndim, shape
        tensor.elements, tensor.bytes = array.ctypes.data, array.nbytes
    watch = _Watch(progress)
    job = _Job(
        ctypes.sizeof(_Job),
        _bytes(hardware),
        _bytes(workload),
        _bytes(mapping) if mapping is not None else None,
        _bytes(folder) if folder is not None else None,
        tensors,
        len(arrays),
        _strings(options),
        len(options),
        watch.call,
        None,
    )
    function = getattr(_library, f"tilebeat_{command}")
    return _finish(lambda handle: int(function(ctypes.byref(job), ctypes.byref(handle))), documents, watch)


def command(arguments: Sequence[str], progress: Progress | None = None) -> Result:
    """Runs any command of the simulator with these arguments."""
    watch, texts = _Watch(progress), _strings(arguments)

    def call_it(handle: ctypes.c_void_p) -> int:
        function = _library.tilebeat_command
        return int(function(texts, len(arguments), watch.call, None, ctypes.byref(handle)))

    return _finish(call_it, (), watch)
