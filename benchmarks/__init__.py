"""The figures of the README, measured: `python -m benchmarks`, or `python -m benchmarks NAME`."""
