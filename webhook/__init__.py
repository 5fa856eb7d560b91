"""gangcheck: says what is wrong with a GPU gang before a Pod reaches scheduling."""

__version__ = "0.1.0"
