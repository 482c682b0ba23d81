#!/usr/bin/env python3
"""crash/backup.py [--rate 5000] [--seconds 10] - a backup under load, restored.

The story of tests/sys/test_backup.py with larger numbers: an exact prefix, the
audit's chain good, nothing delivered before leave is given, then each once.
Prints what was reached: events a second, the backup's time, the slowest batch.
"""
import argparse
import os
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "sys"))
sys.dont_write_bytecode = True
import hk           # noqa: E402
import test_backup  # noqa: E402

p = argparse.ArgumentParser()
p.add_argument("--rate", type=int, default=5000)
p.add_argument("--seconds", type=float, default=10)
p.add_argument("--before", type=int, default=25000)
o = p.parse_args()
folder = tempfile.mkdtemp(prefix="hk-crash-backup-")
t = hk.Test(folder, test_backup.SETTINGS)
try:
    print(test_backup.story(t, o.rate, o.seconds, o.before))
finally:
    t.close()
    shutil.rmtree(folder)
