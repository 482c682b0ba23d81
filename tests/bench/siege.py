#!/usr/bin/env python3
"""bench/siege.py - what a publisher with a key keeps of its rate under siege.

For each kind of siege (sys/crowd.py) a new server is measured in slices that
alternate: calm, besieged, calm, besieged. What counts is the median of the
ratios of neighbours, wanted at 0.7 or more; and every answer must be 202.

Exit status 1 when a figure is missed.
"""
import argparse
import signal
import statistics
import sys
import time

import run
from run import hk

import crowd  # noqa: E402  (run.py knows where it is)

WANTED = 0.7
SLICES = 6
PLACES = 4096  # the setting as it is given
RATE = 500     # who was cut comes again, at most so many in a second
SETTLE = 1     # seconds: until what they began is over


def besiege(b, kind, seconds):
    srv = b.server()
    ratios, rates = [], []
    b.measure(srv, seconds=1)
    for _ in range(SLICES):
        calm = b.measure(srv, seconds=seconds / SLICES)["rate"]
        crowds = crowd.KINDS[kind](srv, PLACES, rate=RATE)
        try:
            hk.until(lambda: all(c.there for c in crowds), "the besiegers came", 20)
            time.sleep(SETTLE)
            hard = b.measure(srv, seconds=seconds / SLICES)["rate"]
        finally:
            for c in crowds:
                c.end()
        time.sleep(SETTLE)
        ratios.append(hard / calm)
        rates.append((calm, hard))
    b.end(srv)
    calm, hard = (statistics.median(r[i] for r in rates) for i in (0, 1))
    print(f"  {kind:10}{calm:10.0f} events/s calm, {hard:8.0f} besieged, ratio "
          f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}), "
          f"{sum(c.lost for c in crowds)} were cut in the last slice", flush=True)
    b.row(kind, statistics.median(ratios), WANTED, "rate")


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("kinds", nargs="*", metavar="KIND", help="of " + ", ".join(crowd.KINDS))
    p.add_argument("--seconds", type=float, default=60, help="of siege, each kind")
    p.add_argument("--binary", default=None)
    p.add_argument("--verbose", action="store_true")
    o = p.parse_args()
    if set(o.kinds) - set(crowd.KINDS):
        p.error("kinds are " + ", ".join(crowd.KINDS))
    if o.binary:
        hk.BINARY = o.binary
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
    b = run.Bench(o)
    try:
        for kind in o.kinds or crowd.KINDS:
            besiege(b, kind, o.seconds)
    except hk.Failed as e:
        print(f"FAILED  {e}")
        return 1
    finally:
        b.close()
    print()
    for kind, text, met in b.rows:
        print(f"{'met' if met else 'MISSED':8}{kind:10}{text}")
    return 0 if all(met for _, _, met in b.rows) else 1


if __name__ == "__main__":
    sys.exit(main())
