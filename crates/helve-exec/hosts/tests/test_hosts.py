"""All tests of the hosts.

    HELVE_TEST_SDK_PYTHON=venv/bin/python python3 test_hosts.py

`HELVE_TEST_SDK_PYTHON` is the python of a venv that has `claude-agent-sdk`.
`HELVE_TEST_NODE`, `HELVE_TEST_PYTHON` and `HELVE_TEST_ESCRIPT` name other
interpreters than those on the path.
"""

import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

PARTS = ["test_node", "test_python", "test_erlang", "test_examples"]


def load_tests(loader, _tests, _pattern):
    return unittest.TestSuite(loader.loadTestsFromName(part) for part in PARTS)


if __name__ == "__main__":
    unittest.main()
