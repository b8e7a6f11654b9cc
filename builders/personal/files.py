"""Scrubbing a table of any size on the disk: CSV, JSON lines or parquet, in pieces, on all cores."""

from __future__ import annotations

import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeVar

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from builders import files
from builders.errors import UsageError
from builders.lock.model import Frozen
from builders.personal import csv_pieces, json_pieces
from builders.personal.arrow_texts import is_text, scrub_batch
from builders.personal.kinds import ALL_KINDS, PersonalKind
from builders.personal.report import PersonalReport, together

_BATCH_ROWS = 8192
_ALONE_BELOW = 16 << 20
"""Bytes of a file below which starting other processes takes longer than the work."""
