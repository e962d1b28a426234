"""A fuzzer of the command line: random valid commands over small odd files, damaged lines and damaged foreign files.

`python -m benchmarks.fuzz --inputs N` runs it by hand; tests/property/test_command_lines.py runs a small number of
inputs. Input number i of a seed is always the same input.
"""
