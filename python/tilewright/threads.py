"""Whether the thread pool follows torch.set_num_threads: until somebody sets its size."""

from __future__ import annotations

import os

follow_torch = "TILEWRIGHT_NUM_THREADS" not in os.environ
