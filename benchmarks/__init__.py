"""The project's figures, measured: `python -m benchmarks`, or `python -m benchmarks NAME`."""
