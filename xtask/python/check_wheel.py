"""Checks what a wheel contains: `python check_wheel.py WHEEL FOLDER ...`, part of `cargo xtask wheel`.

It must have the module, the program, the types and the licences, and none of the folders of the machine that built it. On
Windows it must need no library of the compiler, which users do not have.
"""

import sys
import zipfile

COMPILER_LIBRARIES = (b"libgcc_s", b"libwinpthread", b"libstdc++")


def main(path, folders):
    with zipfile.ZipFile(path) as wheel:
        files = {name: wheel.read(name) for name in wheel.namelist()}
    for needed in ("absentia/_core.", "absentia/py.typed", "entry_points.txt", "LICENSE-MIT", "LICENSE-APACHE"):
        assert any(needed in name for name in files), f"{path}: no {needed}"
    for name, content in files.items():
        if name.endswith(".pyd"):
            assert not any(library in content for library in COMPILER_LIBRARIES), f"{path}: {name} needs the compiler's"
        for folder in folders:
            at = content.find(folder.encode())
            assert at < 0, f"{path}: {name} names {content[at:at + 200].split(bytes(1))[0]!r}"
    print(f"{path}: {len(files)} files, {sum(map(len, files.values())) / 2**20:.1f} MiB, no folder of this machine")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
