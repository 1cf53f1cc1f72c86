"""The version of the program, read by the build and by ``ponder --version``."""

__version__ = "0.1.0"
