"""The thread in which texts are read, so that the server hears its client meanwhile."""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable
from pathlib import Path
from threading import Condition, Thread
from time import monotonic

from mtpp_dsl.editor.server.reading import TextReading
from mtpp_dsl.editor.server.workspace import ReadingJob
from mtpp_dsl.language.syntax.rereading import ParsedBefore
from mtpp_dsl.language.values.complaints import ReadingStopped
from mtpp_dsl.language.values.scope import SpecScope

IDLE = 2.0
"""Seconds without news after which memory in cycles is given back."""
MOST = 50
"""Texts that are read before it is given back in any case."""

logger = logging.getLogger(__name__)


class Worker:
    """Reads texts, the last that was asked for first, and stops what is no longer asked for.

    Args:
        deliver: is called with each reading, from the worker's thread: first of what the text says, then, with its
            analysis, of what that means.
        failed: is called with a text that cannot be read, by an error of ours, which is logged.
    """

    def __init__(
        self, deliver: Callable[[ReadingJob, TextReading], None], failed: Callable[[ReadingJob], None]
    ) -> None:
        self.deliver, self.failed = deliver, failed
        self._jobs: dict[str, tuple[ReadingJob, TextReading | None]] = {}
        self._news = Condition()
        self._running: str | None = None
        self._late = False
        self._scope: SpecScope | None = None
        self._ended = False
        self._memories: dict[str, dict[Path | None, ParsedBefore]] = {}
        self._thread: Thread | None = None
        self._uncollected = 0

    def ask(self, job: ReadingJob, last: TextReading | None) -> None:
        """Have a text read, in place of an earlier one of the same URI, whose reading ends."""
        with self._news:
            self._jobs.pop(job.uri, None)
            self._jobs[job.uri] = job, last
            self._stop(job.uri)
            if self._thread is None:
                self._thread = Thread(target=self._run, name="reading", daemon=True)
                self._thread.start()
            self._news.notify()

    def forget(self, uri: str) -> None:
        """Have a text no longer read."""
        with self._news:
            self._jobs.pop(uri, None)
            self._memories.pop(uri, None)
            self._stop(uri)

    def end(self) -> None:
        """End the thread, at its next step."""
        with self._news:
            self._ended = True
            self._jobs.clear()
            self._stop(self._running)
            self._news.notify()

    def _stop(self, uri: str | None) -> None:
        """Stop the reading of a text, where it is the one that is being read."""
        if uri is not None and self._running == uri:
            self._late = True
            if self._scope is not None:
                self._scope.steps.stop()

    def _begun(self, scope: SpecScope) -> None:
        """Take over by what the reading can be stopped."""
        with self._news:
            self._scope = scope
            if self._late:
                scope.steps.stop()

    def _run(self) -> None:
        gc.disable()  # a collection in the middle of reading a long text takes longer than that
        while True:
            with self._news:
                while not self._jobs and not self._ended:
                    if not self._news.wait(IDLE) and self._uncollected:
                        gc.collect()
                        self._uncollected = 0
                if self._ended:
                    return
                uri = next(reversed(self._jobs))
                job, last = self._jobs.pop(uri)
                self._running, self._late, self._scope = uri, False, None
            try:
                self._read(job, last)
            except ReadingStopped:
                pass
            except Exception:
                logger.exception("cannot read %s", job.uri)
                self.failed(job)
            with self._news:
                self._running = self._scope = None
            self._uncollected += 1
            if self._uncollected >= MOST:
                gc.collect()
                self._uncollected = 0

    def _read(self, job: ReadingJob, last: TextReading | None) -> None:
        began = monotonic()
        memories = self._memories.pop(job.uri, {})  # whoever stops in between leaves none
        reading = job.read(last, memories)
        self._memories[job.uri] = memories
        if not self._late:
            self.deliver(job, reading)
        parsed = monotonic()
        analysis = reading.spec.analyse(begun=self._begun)
        self.deliver(job, reading.analysed(analysis))
        logger.debug("read %s in %.3f s, its meaning in %.3f s", job.uri, parsed - began, monotonic() - parsed)
