#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""units.py LIBRARY_DIR: a program whose object files were compiled for different thread or segment
modes is refused when it starts, by the names of the files; with any way of linking. So is one whose
headers speak another interface than the library. Programs of one piece run."""
import itertools
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from patience import patience  # noqa: E402  (the folder is named above)

HERE = os.path.dirname(os.path.abspath(__file__))
INCLUDE = os.path.normpath(os.path.join(HERE, "..", "..", "include"))
PART = "#include <gasnetex.h>\nEXTERN int part(void) { return (int)gex_System_QueryJobSize(); }\n"
MAIN = """#include <gasnet.h>
EXTERN int part(void);
int main(int argc, char **argv)
{
    if (START != GASNET_OK)
        return 3;
    return part() == 1 ? 0 : 4;
}
"""
EX = "gex_Client_Init(&client, &endpoint, &team, \"UNITS\", &argc, &argv, 0)"
MAIN_EX = MAIN.replace("    if", "    gex_Client_t client; gex_EP_t endpoint; gex_TM_t team;\n    if")
WAYS = {  # how it is compiled and linked
    "cc": ("cc", "cc", []),
    "static": ("cc", "cc", []),
    "mixed languages": ("c++", "cc", []),
    "gc-sections": ("cc", "cc", ["-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"]),
    "lto": ("cc", "cc", ["-flto", "-O2"]),
    "no-pie": ("cc", "cc", ["-fno-pie", "-no-pie"]),
    "O2": ("cc", "cc", ["-O2"]),
}


class Program:
    def __init__(self, folder, libraries):
        self.folder, self.libraries, self.wrong = folder, libraries, 0

    def compile(self, compiler, name, text, flags):
        cxx = compiler == "c++"
        source = os.path.join(self.folder, name + (".cc" if cxx else ".c"))
        with open(source, "w", encoding="utf-8") as file:
            file.write(text.replace("EXTERN", 'extern "C"' if cxx else "extern"))
        unit = os.path.join(self.folder, name + ".o")
        subprocess.run([compiler, "-I", INCLUDE, "-c", source, "-o", unit, *flags], check=True)
        return unit

    def static_needs(self):
        """The libraries that a client of the static library also links, as pkg-config would report them."""
        with open(os.path.join(self.libraries, "..", "generated", "penstock.pc"), encoding="utf-8") as file:
            return next(line for line in file if line.startswith("Libs.private:")).split()[1:]

    def link(self, way, units, flags):
        program = os.path.join(self.folder, "program")
        compiler = "c++" if way == "mixed languages" else "cc"
        library = [os.path.join(self.libraries, "libpenstock.a"), *self.static_needs(), "-lm"] \
            if way == "static" else ["-L", self.libraries, "-lpenstock", "-Wl,-rpath," + self.libraries]
        subprocess.run([compiler, *flags, "-o", program, *units, *library], check=True)
        return program

    def expect(self, what, program, status, said):
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("GASNET", "PENSTOCK"))}
        done = subprocess.run([program], capture_output=True, text=True, timeout=patience(60), check=False,
                              env=environment)
        if done.returncode != status or said not in done.stderr:
            print(f"{what}: status {done.returncode}, wanted {status} and {said!r}:\n{done.stderr}")
            self.wrong += 1

    def try_modes(self, way, part_flags, main_flags, status, said, ex=False):
        part_compiler, main_compiler, flags = WAYS[way]
        text = MAIN_EX.replace("START", EX) if ex else MAIN.replace("START", "gasnet_init(&argc, &argv)")
        units = [self.compile(part_compiler, "part", PART, [*flags, *part_flags]),
                 self.compile(main_compiler, "main", text, [*flags, *main_flags])]
        what = f"{way}, part {part_flags}, main {main_flags}"
        self.expect(what, self.link(way, units, flags), status, said)


def main():
    with tempfile.TemporaryDirectory() as folder:
        program = Program(folder, sys.argv[1])
        for way, ex in itertools.product(WAYS, (False, True)):
            part = "part.cc" if WAYS[way][0] == "c++" else "part.c"
            program.try_modes(way, ["-DGASNET_SEQ"], ["-DGASNET_SEQ=1"], 0, "", ex)
            program.try_modes(way, ["-DGASNET_SEQ"], ["-DGASNET_PAR"], 1,
                              f"{part} was compiled for GASNET_SEQ but main.c for GASNET_PAR", ex)
        program.try_modes("cc", ["-DGASNET_PAR"], ["-DGASNET_PARSYNC"], 1,
                          "part.c was compiled for GASNET_PAR but main.c for GASNET_PARSYNC")
        program.try_modes("cc", ["-DGASNET_SEQ", "-DGASNET_SEGMENT_EVERYTHING"], ["-DGASNET_SEQ"], 1,
                          "part.c was compiled for GASNET_SEGMENT_EVERYTHING but main.c for "
                          "GASNET_SEGMENT_FAST")
        program.try_modes("cc", ["-DGASNET_SEQ", "-DGASNET_CONDUIT_SMP"], ["-DGASNET_SEQ", "-DGASNET_CONDUIT_UDP"],
                          1, "main.c was compiled for the udp conduit but part.c for the smp conduit")
        program.try_modes("cc", ["-DGASNET_SEQ", "-DGASNET_CONDUIT_UDP"], ["-DGASNET_SEQ"], 0, "")
        units = [program.compile("cc", "part", PART, ["-DGASNET_SEQ"])]
        other = MAIN.replace("START", "gasnet_init(&argc, &argv)").replace(
            "EXTERN", "#undef PEN_ABI\n#define PEN_ABI 2\nEXTERN", 1)
        units.append(program.compile("cc", "main", other.replace(
            "#include <gasnet.h>", "#include <penstock/abi.h>\n#undef PEN_ABI\n#define PEN_ABI 2\n"
            "#include <gasnet.h>"), ["-DGASNET_SEQ"]))
        program.expect("other headers", program.link("cc", units, []), 1,
                       "headers of interface 2, but this library speaks 1")
        print(f"{program.wrong} wrong")
        return 1 if program.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
