"""Processes on the machines of a Dask cluster."""

from __future__ import annotations

import logging
import sys
from itertools import count
from threading import Event, Lock
from time import monotonic
from typing import Any, ClassVar
from urllib.parse import urlsplit
from uuid import uuid4

from mtpp_dsl.core.base.lazy import need
from mtpp_dsl.core.errors import SolverError, UsageError
from mtpp_dsl.core.executors.dask_bridge import differing, hold, versions
from mtpp_dsl.core.executors.dask_links import Link, RemoteChannel
from mtpp_dsl.core.executors.local import LOCAL, PROCESS_MEMORY
from mtpp_dsl.core.executors.spawn import shielded

CONNECT, WORKERS = 10.0, 30.0
"""Seconds within which a scheduler has to answer, and to have a worker."""
RECONNECT = 60.0
"""Seconds that are waited for a scheduler that was there before, and for its workers."""
START = (2.0, 4.0, 8.0, 16.0)
"""Seconds that are waited for a free slot; between them Dask is asked anew, which may know of a better worker now."""
LOOK = 0.2
"""Seconds between looks at whether the cluster is still there."""


def _check(address: str) -> None:
    """Refuse an invalid address, of which Dask would say so only after waiting for an answer."""
    try:
        _ = urlsplit(address).port
    except ValueError as error:
        raise UsageError(f"{address!r} is no address of a scheduler, such as tcp://host:8786: {error}") from None


class Dask:
    """Starts processes on the workers of a Dask cluster: one for each thread that a worker offers.

    Each holds one slot of its worker by a task of Dask, so that clusters may be shared. Messages go through the
    scheduler, encrypted where Dask is told to (``tls://``, and ``distributed.comm.tls`` in its configuration).

    Args:
        address: of a scheduler, such as ``tcp://host:8786``; or ``local-cluster``, or ``local-cluster:N``, for a
            cluster of N workers on this machine, which ends with this object.

    Raises:
        UsageError: distributed is not installed, there is no answer, or other versions are installed there.
    """

    name: ClassVar[str] = "dask"
    summary: ClassVar[str] = "the workers of a Dask cluster"
    schemes: ClassVar[tuple[str, ...]] = ("tcp", "tls", "ucx", "ws", "wss", "local-cluster")

    def __init__(self, address: str) -> None:
        _check(address)
        self._distributed = need("distributed", "cluster")
        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # what is lost is said by us
        self._address = address.removeprefix("dask:")
        self._session = uuid4().hex
        self._numbers = count(1)
        self._lock, self._starting = Lock(), Lock()
        self._channels: dict[str, RemoteChannel] = {}
        self._links: dict[str, Link] = {}
        self._seen: dict[str, str] = {}
        self._closed = False
        self._cluster: Any = None
        self._client: Any = None
        self._comm: Any = None
        try:
            if address.startswith("local-cluster"):
                self._cluster = self._local_cluster(address)
            self._connect(CONNECT, WORKERS)
        except (OSError, TimeoutError) as error:
            self.close()
            raise UsageError(f"no scheduler of Dask can be used at {self._address}: {_why(error)}") from error
        except BaseException:
            self.close()
            raise

    def _local_cluster(self, address: str) -> Any:
        _, colon, number = address.partition(":")
        if colon and not (number.isdecimal() and int(number) > 0):
            raise UsageError(f"{address!r}: after local-cluster: stands how many workers, such as local-cluster:2")
        with shielded():
            return self._distributed.LocalCluster(
                n_workers=int(number) if colon else LOCAL.slots,
                threads_per_worker=1,
                processes=True,
                dashboard_address=None,
                scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},  # not the usual port, which another may have
                silence_logs=logging.CRITICAL,
            )

    def _connect(self, seconds: float, workers: float) -> None:
        """Connect, wait for a worker, and compare versions.

        Raises:
            OSError, TimeoutError: there is no answer, or there are no workers.
            UsageError: other versions are installed there.
        """
        where = self._address if self._cluster is None else self._cluster
        self._client = client = self._distributed.Client(
            where, timeout=seconds, set_as_default=False, name="mtpp", direct_to_workers=False
        )
        try:
            client.wait_for_workers(1, timeout=workers)
        except TimeoutError as error:
            raise OSError(f"it has no worker, and none came in {workers:.0f} s") from error
        client.subscribe_topic(self._topic, self._bound)
        self._comm = client.scheduler_comm
        try:
            refusals = client.run(differing, versions())
        except ImportError as error:
            raise UsageError(
                f"mtpp-dsl is not installed on a worker of the cluster, or another version: {error}"
            ) from None
        for refusal in filter(None, refusals.values()):
            raise UsageError(refusal)

    @property
    def _topic(self) -> str:
        return f"mtpp-{self._session}"

    def _connected(self) -> Any:
        """Return the client; connect again where the scheduler was lost.

        Raises:
            OSError: it does not come back.
        """
        with self._starting:
            if self._closed:
                raise OSError("the cluster was left")
            client, until = self._client, monotonic() + RECONNECT
            if client is not None and client.status == "running" and client.scheduler_comm is self._comm:
                return client
            self._lose_all("the scheduler of the cluster was lost")
            while True:
                _close(self._client)
                try:
                    left = max(1.0, until - monotonic())
                    self._connect(min(CONNECT, left), min(WORKERS, left))
                except (OSError, TimeoutError) as error:
                    if monotonic() >= until or self._closed:
                        raise OSError(f"the scheduler at {self._address} was lost: {_why(error)}") from error
                else:
                    return self._client

    def _workers(self) -> list[dict[str, int]]:
        workers: dict[str, dict[str, int]] = self._connected().scheduler_info(n_workers=-1)["workers"]
        return list(workers.values())

    @property
    def slots(self) -> int:
        """Return how many threads the workers offer, all of them together."""
        return max(1, sum(worker["nthreads"] for worker in self._workers()))

    @property
    def room(self) -> int:
        """Return how many processes the memory of the workers is enough for."""
        limits = [worker["memory_limit"] for worker in self._workers()]
        return max(1, sum(limit // PROCESS_MEMORY for limit in limits)) if all(limits) else sys.maxsize

    def start(self, module: str) -> RemoteChannel:
        """Start a process that calls ``main(wire)`` of *module*, on a worker that Dask chooses.

        Raises:
            OSError: no slot became free, or the cluster was lost.
            SolverError: other versions are installed on the worker.
        """
        for seconds in START:
            channel, future = self._begin(module, seconds)
            if channel.link is not None:
                return channel
            lost = future.status == "error" or self._client.status != "running"
            why = self._unbound(future)
            self._drop(channel)
            if lost:
                break
        raise why

    def _begin(self, module: str, seconds: float) -> tuple[RemoteChannel, Any]:
        """Ask Dask to start a process, and wait for it; return its channel and the future of its task."""
        client = self._connected()
        number = f"{self._session}-{next(self._numbers)}"
        ready = Event()
        channel = RemoteChannel(number, ready.set, self._drop)
        with self._lock:
            self._channels[number] = channel
        future = client.submit(
            hold, self._session, number, module, versions(), self._topic, key=f"mtpp-{number}", pure=False, retries=0
        )
        channel.future = future
        future.add_done_callback(lambda _: ready.set())
        until = monotonic() + seconds
        while not ready.wait(LOOK) and monotonic() < until and client.status == "running":
            pass
        return channel, future

    def _unbound(self, future: Any) -> Exception:
        """Return why a process did not start."""
        if future.status == "error":
            error = future.exception()
            if isinstance(error, SolverError):
                return error
            if isinstance(error, ImportError):
                return SolverError(f"a worker of the cluster cannot import what is to run: {error}")
            return OSError(_why(error))
        if self._client.status != "running":
            return OSError("the scheduler of the cluster was lost")
        return OSError(f"no slot of the cluster became free in {sum(START):.0f} s")

    def _bound(self, event: tuple[Any, dict[str, str]]) -> None:
        """Note where a process runs; called by Dask when the process has started."""
        message = event[1]
        number, worker = message["number"], message["worker"]
        with self._lock:
            link = self._links.get(worker)
            if link is None:
                where = self._seen.setdefault(worker, f"worker {len(self._seen) + 1}")
                link = self._links[worker] = Link(
                    self._client, self._session, worker, where, self._channels, self._lost
                )
            channel = self._channels.get(number)
        if channel is None or channel.link is not None:  # given up, or started again by Dask on another worker
            link.put(number, None)
        if channel is not None:
            if channel.link is not None:
                channel.lose("its worker was lost")
            else:
                channel.bind(link)

    def _lost(self, link: Link, why: str) -> None:
        """End the channels of a worker that does not answer."""
        with self._lock:
            if self._links.get(link.worker) is link:
                del self._links[link.worker]
            lost = [channel for channel in self._channels.values() if channel.link is link]
        for channel in lost:
            channel.lose(f"{link.where} of the cluster was lost{why and f' ({why})'}")

    def _lose_all(self, why: str) -> None:
        with self._lock:
            links, self._links = list(self._links.values()), {}
            channels, self._channels = list(self._channels.values()), {}
        for channel in channels:
            channel.lose(why)
        for link in links:
            link.close(0.0)

    def _drop(self, channel: RemoteChannel) -> None:
        """Forget a channel, and let Dask forget its task."""
        with self._lock:
            self._channels.pop(channel.number, None)
        if channel.future is not None:
            channel.future.release()

    def close(self) -> None:
        """End all processes that are left, and leave the cluster; end it where it is our own."""
        self._closed = True
        with self._lock:
            channels, links = list(self._channels.values()), list(self._links.values())
        for channel in channels:
            channel.end()
        for link in links:
            link.close(CONNECT / 2)
        _close(self._client)
        if self._cluster is not None:
            self._cluster.close(timeout=CONNECT)
            self._cluster = None


def _close(client: Any) -> None:
    if client is not None:
        client.close(timeout=2)


def _why(error: BaseException | None) -> str:
    """Return the first line of an error."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
