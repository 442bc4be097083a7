"""The parts of the host for Python tools."""
