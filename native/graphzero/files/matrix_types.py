"""Names of the element types a matrix may have. Without NumPy, for the command line."""

MATRIX_DTYPES = (
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "int8",
    "uint8",
    "int16",
    "int32",
    "int64",
    "bool",
)
# Those that hold floating values.
FLOAT_DTYPES = ("float32", "float64", "float16", "bfloat16")
