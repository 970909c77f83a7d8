"""The version of the package: that of the library that it was made with."""

VERSION = "0.1.0"
