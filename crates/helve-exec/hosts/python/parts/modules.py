"""Imports a file as a module, with its neighbours.

Files of one folder see each other by name. Two folders may each have a
`util.py`, so the modules of a folder are put aside while another one is in use.
"""

import importlib
import importlib.machinery
import importlib.util
import os
import re
import sys
import sysconfig

_STDLIB = os.path.realpath(sysconfig.get_paths()["stdlib"])

_put_aside = {}
_folder = None


def import_file(file):
    """The module of a file, run once."""
    root, name = _place(file)
    enter(root)
    there = sys.modules.get(name)
    if there is not None and getattr(there, "__file__", None) == file:
        return there
    if there is not None or _is_taken(name):
        # A name that something else has, such as that of the standard library.
        name = "helve_tool_" + re.sub(r"\W", "_", os.path.splitext(os.path.basename(file))[0])
        while name in sys.modules:
            name += "_"
    elif "." in name:
        return importlib.import_module(name)
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None:
        raise ImportError(f"`{os.path.basename(file)}` is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


def enter_for(file):
    """Before a tool of this file runs: it may import more."""
    enter(_place(file)[0])


def enter(root):
    global _folder
    if root == _folder:
        return
    if _folder is not None:
        inside = _folder + os.sep
        _put_aside[_folder] = {
            name: sys.modules.pop(name)
            for name, module in list(sys.modules.items())
            if (getattr(module, "__file__", None) or "").startswith(inside)
            and not name.startswith("helve_tool_")
        }
        if _folder in sys.path:
            sys.path.remove(_folder)
    _folder = root
    sys.modules.update(_put_aside.pop(root, {}))
    importlib.invalidate_caches()
    # Behind the standard library, which a file of the same name must not hide.
    at = next((i for i, p in enumerate(sys.path) if _is_packages(p)), len(sys.path))
    sys.path.insert(at, root)


def _is_packages(path):
    return os.path.basename(path) in ("site-packages", "dist-packages", "standin")


_places = {}


def _place(file):
    """The folder to import from, and the name to import: a package has several parts."""
    if file not in _places:
        folder, base = os.path.split(file)
        name = os.path.splitext(base)[0]
        while os.path.exists(os.path.join(folder, "__init__.py")) and os.path.basename(folder).isidentifier():
            folder, package = os.path.split(folder)
            name = f"{package}.{name}"
        _places[file] = (folder, name)
    return _places[file]


def _is_taken(name):
    if not all(part.isidentifier() for part in name.split(".")):
        return True
    top = name.split(".")[0]
    if top in sys.builtin_module_names or top == "__main__":
        return True
    if hasattr(sys, "stdlib_module_names"):
        return top in sys.stdlib_module_names
    try:
        origin = importlib.machinery.PathFinder.find_spec(top, [_STDLIB])
    except (ImportError, ValueError):
        return False
    return origin is not None
