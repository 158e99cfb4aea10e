"""A network between namespaces that delays every frame: `delayed_network.py SECONDS NAMESPACE...`.

Linux delays frames with `netem`, which not every kernel has. Here every namespace has a TAP device, and this process carries frames
from one to the others, each some seconds after it was sent. It takes processor time, about ten microseconds a frame; large frames
make them few.
"""

import collections
import ctypes
import fcntl
import os
import select
import struct
import sys
import time

DEVICE = "absw"
MTU = 65_000
TUNSETIFF, TAP, NO_HEADER = 0x400454CA, 0x0002, 0x1000
NEWNET = 0x40000000


def opened(namespace, device):
    """The TAP device of a namespace, which this process leaves again."""
    libc = ctypes.CDLL(None, use_errno=True)
    home = os.open("/proc/self/ns/net", os.O_RDONLY)
    there = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    if libc.setns(there, NEWNET):
        raise OSError(ctypes.get_errno(), f"cannot enter the namespace {namespace}")
    try:
        tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", device.encode(), TAP | NO_HEADER))
    finally:
        libc.setns(home, NEWNET)
    return tap


def carry(seconds, taps):
    """Carries frames until the process ends."""
    waiting, homes = collections.deque(), {}
    while True:
        until = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        for tap in select.select(taps, [], [], until)[0]:
            frame = os.read(tap, MTU + 100)
            homes[frame[6:12]] = tap
            waiting.append((time.monotonic() + seconds, tap, frame))
        while waiting and waiting[0][0] <= time.monotonic():
            _, source, frame = waiting.popleft()
            home = homes.get(frame[:6])
            for tap in [home] if home is not None else [tap for tap in taps if tap != source]:
                try:
                    os.write(tap, frame)
                except BlockingIOError:
                    # As on any network, what does not fit is lost and sent again.
                    pass


def main():
    taps = [opened(namespace, f"{DEVICE}{node}") for node, namespace in enumerate(sys.argv[2:])]
    print("ready", flush=True)
    carry(float(sys.argv[1]), taps)


if __name__ == "__main__":
    main()
