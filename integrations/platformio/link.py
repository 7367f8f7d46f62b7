"""Links the archive for the processor of the board."""

import os
import sys

Import("env")  # noqa: F821, by PlatformIO

TARGETS = {
    "cortex-m0": "thumbv6m-none-eabi",
    "cortex-m0plus": "thumbv6m-none-eabi",
    "cortex-m3": "thumbv7m-none-eabi",
    "cortex-m4": "thumbv7em-none-eabi",
    "cortex-m7": "thumbv7em-none-eabi",
    "cortex-m33": "thumbv8m.main-none-eabi",
}
# Espressif chips without an FPU, for which PlatformIO's boards state no `build.cpu`.
MCUS = {"esp32c6": "riscv32imac-unknown-none-elf", "esp32h2": "riscv32imac-unknown-none-elf"}

board = env.BoardConfig()  # noqa: F821
cpu, mcu = board.get("build.cpu", ""), board.get("build.mcu", "")
target = TARGETS.get(cpu) or MCUS.get(mcu)
if target is None:
    allowed = ", ".join([*TARGETS, *MCUS])
    sys.exit(f"Redpoll: there is no archive for the processor {cpu or mcu!r}; allowed: {allowed}")
if target.startswith(("thumbv7em", "thumbv8m")):
    # The linker requires the program's float ABI, although Redpoll has no floating-point arguments.
    flags = " ".join(map(str, env.get("CCFLAGS", [])))  # noqa: F821
    target += "hf" if "-mfloat-abi=hard" in flags else ""
# PlatformIO runs this script in the folder of the library.
env.Append(LIBPATH=[os.path.realpath(os.path.join("lib", target))], LIBS=["redpoll"])  # noqa: F821
