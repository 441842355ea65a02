"""A dataset that ozarr opens, for the checks that compare with what other programs wrote."""
import ctypes as C

import numpy as np


class Memory(C.Structure):
    _fields_ = [("struct_size", C.c_size_t), ("data", C.c_void_p), ("size", C.c_size_t), ("offset", C.c_size_t), ("strides", C.c_void_p),
                ("order", C.c_int32), ("type", C.c_int32), ("overflow", C.c_int32), ("reserved", C.c_int32), ("dtype", C.c_void_p),
                ("field", C.c_void_p), ("sizes", C.c_void_p), ("starts", C.c_void_p)]


class Dataset:
    """A dataset that is open for reading; failures of ozarr are RuntimeErrors with its message."""

    def __init__(self, library, store):
        self.lib, self.handle = C.CDLL(library), C.c_void_p()
        self.lib.ozarr_last_error.restype = C.c_char_p
        self.call("dataset_open", str(store).encode(), b"r", C.byref(self.handle))

    def call(self, name, *arguments):
        if getattr(self.lib, "ozarr_" + name)(*arguments):
            raise RuntimeError(f"{name}: {self.lib.ozarr_last_error().decode()}")

    def variables(self):
        """Whether each variable is a coordinate, by name."""
        n, text, flag, found = C.c_size_t(), C.create_string_buffer(256), C.c_bool(), {}
        self.call("dataset_variable_count", self.handle, C.byref(n))
        for i in range(n.value):
            self.call("dataset_variable", self.handle, C.c_size_t(i), text, C.c_size_t(256), None, C.byref(flag))
            found[text.value.decode()] = flag.value
        return found

    def dimension(self, name):
        length = C.c_int64()
        self.call("dataset_dimension_length", self.handle, name.encode(), C.byref(length), None)
        return length.value

    def array(self, name):
        array = C.c_void_p()
        self.call("dataset_open_variable", self.handle, name.encode(), C.byref(array))
        return array

    def unpacked(self, name, shape):
        array, out = self.array(name), np.empty(shape)
        memory = Memory(C.sizeof(Memory), out.ctypes.data, out.nbytes, 0, None, 0, 12, 0, 0, None, None)
        self.call("array_read_unpacked", array, None, C.byref(memory))
        self.call("array_close", array)
        return out

    def times(self, name, n, units):
        array, out = self.array(name), np.empty(n, np.int64)
        self.call("array_read_times", array, None, units.encode(), out.ctypes.data_as(C.c_void_p), C.c_size_t(out.nbytes))
        self.call("array_close", array)
        return out


def differences(found, expected):
    """What of a dictionary is not as expected, as text."""
    def same(a, b):
        a, b = np.asarray(a), np.asarray(b)
        return np.array_equal(a, b, equal_nan=b.dtype.kind == "f")
    return "; ".join(f"{k} is {found[k]}, expected {v}" for k, v in expected.items() if not (found[k] == v if isinstance(v, dict) else same(found[k], v)))
