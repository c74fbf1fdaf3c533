"""Compilation of LLVM IR text to callable machine code for the CPU of this machine.

The graph is already simplified, so LLVM's mid-level optimiser does not run: the code generator
alone gives the same speed in a fraction of the time. Very long code is not optimised at all. Object
code is loaded from the cache if the same computation was compiled before by the same version of
this package and LLVM for the same CPU and the same layout of Python objects. In this case the IR is
not generated either.

On x86-64 with FMA (fused multiply-add) the small code model is used, so that constants can be
memory operands. All sections of an object are then allocated in one block, so that they are within
the reach of relative addresses. Code for a CPU without FMA calls ``fma`` of the C library, which
may be out of this reach. For such CPUs, and for other architectures, LLVM's default models for
just-in-time code are used. On Windows the JIT needs ELF objects.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from brazo.codegen import cache
from brazo.codegen.checkpoint import checkpoint
from brazo.internals import cpython

__all__ = ["Host", "MachineCode", "build", "compile_object", "host", "load_or_compile", "unusable"]

# Characters of IR up to which code is optimised.  For longer code LLVM's optimising code generator
# takes too long; the plain one takes a quarter of the time and gives 0.5 to 0.9 of the speed.
LONG_IR = 1_500_000


@dataclass(frozen=True)
class Host:
    """Target of the compiler; ``width`` is the number of SIMD lanes to use."""

    triple: str
    cpu: str
    features: str
    width: int
    version: str  # llvmlite and LLVM


class MachineCode:
    """Loaded machine code; its function addresses are valid while this object exists."""

    def __init__(self, code: bytes, target: Host):
        llvm = _binding()
        # An engine owns its target machine and must be created with a module, here an empty one.
        empty = llvm.parse_assembly("")
        machine = _target_machine(target)
        one_block = True if _self_contained(target) else None  # None: llvmlite's own choice
        self._engine = llvm.create_mcjit_compiler(empty, machine, use_lmm=one_block)
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()

    def address(self, name: str) -> int:
        return self._engine.get_function_address(name)


def build(ir: str, target: Host | None = None) -> MachineCode:
    """Load the machine code of IR text; compile the IR if it is not in the cache."""
    return load_or_compile(f"ir\0{ir}", lambda: ir, target)


def load_or_compile(
    signature: str, make_ir: Callable[[], str], target: Host | None = None
) -> MachineCode:
    """Load the machine code cached under a signature, or generate and compile the IR.

    The IR must depend only on the signature, the target, the sources of `brazo.codegen` and the
    object layouts in `brazo.internals.cpython`.
    """
    target = target or host()
    parts = (str(cache.FORMAT), _generator(), *map(str, vars(target).values()), signature)
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    code = cache.load(key)
    if code is None:
        checkpoint()
        ir = make_ir()
        checkpoint()
        code = compile_object(ir, target)
        cache.store(key, code)
    return MachineCode(code, target)


def compile_object(ir: str, target: Host) -> bytes:
    """Compile IR text to object code, without the cache."""
    llvm = _binding()
    module = llvm.parse_assembly(ir)
    module.triple = target.triple
    module.verify()
    return _target_machine(target, 2 if len(ir) <= LONG_IR else 0).emit_object(module)


@lru_cache(maxsize=1)
def host() -> Host:
    """Return the compilation target for the CPU of this machine."""
    import llvmlite

    llvm = _binding()
    triple = llvm.get_process_triple()
    if sys.platform == "win32":
        triple += "-elf"
    features = llvm.get_host_cpu_features()
    lanes = 8 if features.get("avx512f") and features.get("avx512dq") else 4
    version = f"{llvmlite.__version__} {'.'.join(map(str, llvm.llvm_version_info))}"
    return Host(triple, llvm.get_host_cpu_name(), features.flatten(), lanes, version)


@lru_cache(maxsize=1)
def _generator() -> str:
    """Key that changes with the code generator and with the object layout of this interpreter.

    It contains the sizes and modification times of the sources, and the offsets that differ between
    interpreters.
    """
    layout = f"{cpython.ITEMS} {cpython.SLOT}"
    here = Path(__file__).parent
    try:
        files = sorted((f.name, f.stat()) for f in os.scandir(here) if f.name.endswith(".py"))
        files.append(("cpython.py", Path(cpython.__file__).stat()))
    except OSError:  # not in a plain folder: released versions differ in their number
        from importlib.metadata import version

        return f"{version('brazo')} {layout}"
    stats = (f"{name} {stat.st_size} {stat.st_mtime_ns}" for name, stat in files)
    return " ".join([*stats, layout])


@lru_cache(maxsize=1)
def unusable() -> str | None:
    """Reason why machine code cannot be generated in this process; None if it can."""
    try:
        _binding()
    except ImportError as error:
        return f"llvmlite cannot be imported ({error})"
    except (OSError, RuntimeError) as error:
        return f"LLVM cannot generate code for this CPU ({error})"
    return None


def _target_machine(target: Host, optimisation: int = 2) -> Any:
    near = _self_contained(target)
    return (
        _binding()
        .Target.from_triple(target.triple)
        .create_target_machine(
            cpu=target.cpu,
            features=target.features,
            opt=optimisation,
            reloc="pic" if near else "default",
            codemodel="small" if near else "jitdefault",
            jit=True,
        )
    )


def _self_contained(target: Host) -> bool:
    """Whether code for the target calls no library function: x86-64 with FMA."""
    return target.triple.startswith("x86_64") and "+fma" in target.features.split(",")


@lru_cache(maxsize=1)
def _binding() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.check_jit_execution()
    _offer_fma(llvm)
    return llvm


def _offer_fma(llvm: Any) -> None:
    """Register the C library's `fma` with LLVM; code for CPUs without FMA calls it."""
    library = ctypes.CDLL("ucrtbase" if os.name == "nt" else None)
    try:
        address = ctypes.cast(library.fma, ctypes.c_void_p).value
    except AttributeError:  # linked statically elsewhere; LLVM then searches itself
        return
    llvm.add_symbol("fma", address)
