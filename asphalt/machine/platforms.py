"""The built-in clusters for simulations: networks, and the processor time of messages.

A network is one link to and one link from each node, joined by a switch without contention.  The
processor time of a message at either end is a piecewise linear function of its size: TCP copies
every byte, a network card with remote direct memory access only needs a request.

Each figure has its source beside it.  ``Network.assumed`` names those without a cited measurement;
a platform file of a measured cluster is better than any of these.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from asphalt.ir.records import record
from asphalt.running.simgrid import Cluster

US = 1e-6
NS = 1e-9
MB = 1e6
GB = 1e9


INSTANT = 1e21
"""A speed, in flop/s or bytes/s, at which everything takes no time."""


class Platform(Protocol):
    """A cluster to simulate programs on."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    def settings(self) -> dict[str, str]: ...
    def xml(self, nodes: int, speed: float, at_once: bool = False) -> str: ...
    def free(self) -> Platform: ...
    def of_sender(self, size: float) -> float: ...
    def of_receiver(self, size: float) -> float: ...


@record
class CostSegment:
    """The cost of messages of at least ``size`` bytes: seconds for each, and for each byte."""

    size: int
    message: float
    byte: float = 0.0


@record
class Network:
    """A network; bandwidths in bytes per second, latencies and costs in seconds.

    ``latency``: the time on the way from one node to another, without the processor times
    ``sending`` and ``receiving``.  ``eager``: messages of fewer bytes leave before their receive is
    posted.  ``collectives``: the library whose algorithms collective operations use.  ``assumed``:
    the figures without a measurement.
    """

    name: str
    title: str
    bandwidth: float
    latency: float
    copy_bandwidth: float
    copy_latency: float
    sending: tuple[CostSegment, ...]
    receiving: tuple[CostSegment, ...]
    test: float
    eager: int
    collectives: str
    assumed: tuple[str, ...]

    def settings(self) -> dict[str, str]:
        """The settings of smpirun besides the platform file."""
        sending = _pieces(_of_senders(self))
        return PLAIN | {
            "smpi/os": sending,
            "smpi/ois": sending,
            "smpi/or": _pieces(self.receiving),
            "smpi/test": f"{self.test:.9g}",
            **eager_below(self.eager),
            "smpi/coll-selector": self.collectives,
        }

    def xml(self, nodes: int, speed: float, at_once: bool = False) -> str:
        """The platform file for smpirun: ``nodes`` of ``speed`` flop/s.

        ``at_once``: all computation takes no time.
        """
        return Cluster(
            nodes,
            f"{INSTANT if at_once else speed:.9g}f",
            f"{self.bandwidth:.9g}Bps",
            f"{self.latency / 2:.9g}s",  # that of one of the two links on the way
            f"{self.copy_bandwidth:.9g}Bps",
            f"{self.copy_latency:.9g}s",
        ).xml()

    def of_sender(self, size: float) -> float:
        """The processor time that SMPI charges the sender of a message."""
        return _cost(_of_senders(self), size)

    def of_receiver(self, size: float) -> float:
        """The processor time that SMPI charges the receiver of a message."""
        return _cost(self.receiving, size) if size < self.eager else 0.0

    def sending_cost(self, size: float) -> float:
        """The processor time that a message of ``size`` bytes costs its sender."""
        return _cost(self.sending, size)

    def receiving_cost(self, size: float) -> float:
        """The processor time that a message of ``size`` bytes costs its receiver."""
        return _cost(self.receiving, size)

    def free(self) -> Network:
        """This cluster with a network and messages that cost nothing."""
        nothing = (CostSegment(0, 0.0),)
        return replace(
            self,
            bandwidth=INSTANT,
            latency=0.0,
            copy_bandwidth=INSTANT,
            copy_latency=0.0,
            sending=nothing,
            receiving=nothing,
        )  # MPI_Test still takes time: a loop that polls would never end otherwise

    def one_way(self, size: int) -> float:
        """The time in seconds of a message of ``size`` bytes, from send to receive."""
        ends = _cost(self.sending, size) + _cost(self.receiving, size)
        return ends + self.latency + size / self.bandwidth


def eager_below(size: int) -> dict[str, str]:
    """The settings with which messages of fewer than ``size`` bytes are eager.

    The first setting lets the sender go on, the second lets the data leave before the receive is
    posted.
    """
    return {"smpi/send-is-detached-thresh": str(size), "smpi/async-small-thresh": str(size)}


PLAIN = {
    # latency and bandwidth are those of the platform file: by default SimGrid multiplies them by
    # factors that fit one cluster of 2009
    "smpi/bw-factor": "0:1.0",
    "smpi/lat-factor": "0:1.0",
    "smpi/simulate-computation": "no",
    "smpi/grow-injected-times": "no",
}
"""Settings of every simulation: no timing on the host, no factors on a platform file."""


def _pieces(pieces: tuple[CostSegment, ...]) -> str:
    """The segments as SMPI reads them: each is for messages of more bytes than it says."""
    return ";".join(
        f"{max(0, piece.size - 1)}:{piece.message:.9g}:{piece.byte:.9g}" for piece in pieces
    )


def _of_senders(network: Network) -> tuple[CostSegment, ...]:
    """The costs that SMPI charges to senders.

    SMPI charges the receiver of eager messages only.  In an exchange, each rank sends as much as it
    receives, so the sender of a larger message is charged for both ends.
    """
    eager = network.eager
    starts = {piece.size for piece in (*network.sending, *network.receiving) if piece.size > eager}
    return (
        *(piece for piece in network.sending if piece.size < eager),
        *(_both(network, size) for size in sorted({eager, *starts})),
    )


def _both(network: Network, size: int) -> CostSegment:
    sending, receiving = _piece(network.sending, size), _piece(network.receiving, size)
    return CostSegment(size, sending.message + receiving.message, sending.byte + receiving.byte)


def _piece(pieces: tuple[CostSegment, ...], size: float) -> CostSegment:
    return [piece for piece in pieces if piece.size <= size][-1]


def _cost(pieces: tuple[CostSegment, ...], size: float) -> float:
    last = _piece(pieces, size)
    return last.message + last.byte * size


# TCP: the kernel copies on both sides, and the receiver does most of the work.  One core of a
# server of 2020 receives about 42 Gb/s of one flow and can send about twice that (Cai et al.,
# Understanding Host Network Stack Overheads, SIGCOMM 2021, sections 3.1 and 3.5): 0.19 and 0.1 ns
# a byte.  A system call with its socket work is taken as 2 us at either end: assumed, within a
# bound (a byte through the loopback costs its sender 5.5 us, with what the receiving stack does).
_TCP_SEND = (CostSegment(0, 2 * US, 0.1 * NS),)
_TCP_RECEIVE = (CostSegment(0, 2 * US, 0.19 * NS),)
_TCP_TEST = 0.5 * US  # one poll() of a socket: 0.43 us on a virtual machine
_TCP_EAGER = 64 * 1024  # Open MPI's btl_tcp_eager_limit
# Payload of TCP in Ethernet frames of 1500 bytes: 1448 of 1538 on the wire, 0.9415 of the rate.
_FRAMES = 1448 / 1538

# A copy by one core of a present server: assumed, between the 4.4 GB/s of arrays of 64 MB and the
# 12 GB/s of 64 KB that a virtual machine copies.  Then one by an Opteron of 2004, half of what it
# can stream (assumed).  What a copy takes beside its bytes is assumed, too.
_COPY = 10 * GB
_COPY_2007 = 1.5 * GB
_COPIES = "copies in memory"
_MESSAGES = "a message's cost"
_LATENCY = "latency"
_TEST = "MPI_Test"


def _ethernet(gigabits: int, one_byte: float, *assumed: str) -> Network:
    """Ethernet with TCP; ``one_byte``: the seconds that one byte takes from send to receive."""
    return Network(
        name=f"ethernet-{gigabits}g",
        title=f"Ethernet {gigabits} Gb/s, TCP",
        bandwidth=gigabits * GB / 8 * _FRAMES,
        latency=one_byte - _cost(_TCP_SEND, 0) - _cost(_TCP_RECEIVE, 0),
        copy_bandwidth=_COPY,
        copy_latency=0.2 * US,
        sending=_TCP_SEND,
        receiving=_TCP_RECEIVE,
        test=_TCP_TEST,
        eager=_TCP_EAGER,
        collectives="ompi",
        assumed=(*assumed, _MESSAGES, _COPIES),
    )


# between two nodes with a switch (nw-grid.ac.uk/LivMPI, 2009)
ETHERNET_1 = _ethernet(1, 23.6 * US)
ETHERNET_10 = _ethernet(10, 14 * US, _LATENCY)
ETHERNET_25 = _ethernet(25, 12 * US, _LATENCY)
INFINIBAND_HDR = Network(
    name="ib-hdr",
    title="InfiniBand HDR, 200 Gb/s",
    # 200 Gb/s less 2 % of headers: 66-byte frames around 4096-byte packets, as tests of bandwidth
    # give it (24.6 GB/s)
    bandwidth=24.6 * GB,
    latency=0.6 * US,  # 1.0 us in all, as the cards' maker and tests of MPI latency give it
    copy_bandwidth=_COPY,
    copy_latency=0.2 * US,
    # To post a work request takes 0.2 us (assumed); what is smaller than 8 KiB (the range of UCX's
    # default) is copied once at either end, what is larger is read out of the user's memory.
    sending=(CostSegment(0, 0.2 * US, 1 / _COPY), CostSegment(8192, 0.3 * US)),
    receiving=(CostSegment(0, 0.2 * US, 1 / _COPY), CostSegment(8192, 0.3 * US)),
    test=0.05 * US,  # assumed: a look at a completion queue in cache
    eager=8192,
    collectives="mvapich2",
    assumed=(_MESSAGES, _TEST, _COPIES),
)
INFINIBAND_DDR_2009 = Network(
    name="ib-ddr-2009",
    title="InfiniBand 4X DDR, 20 Gb/s (2009)",
    # The cluster of Danalis et al. (2009), section 6: 20 Gb/s on the wire are 16 Gb/s of data, of
    # which PCI Express of that time lets through about 1.4 GB/s (assumed)
    bandwidth=1.4 * GB,
    latency=2 * US,  # assumed: 3 us in all, as MPI libraries of that time gave it
    copy_bandwidth=_COPY_2007,
    copy_latency=0.5 * US,
    # 0.5 us at either end (assumed); what is smaller than 8 KiB is copied, what is larger is read
    # out of the user's memory
    sending=(CostSegment(0, 0.5 * US, 1 / _COPY_2007), CostSegment(8192, 1 * US)),
    receiving=(CostSegment(0, 0.5 * US, 1 / _COPY_2007), CostSegment(8192, 1 * US)),
    test=0.1 * US,
    eager=8192,
    collectives="mvapich2",
    assumed=("bandwidth", _LATENCY, _MESSAGES, "what is copied", _TEST, _COPIES),
)
MYRINET_2007 = Network(
    name="myrinet-2007",
    title="Myrinet-2000 with MX, 2 Gb/s (2007)",
    # Myricom's figures for MX-2G and cards with a LANai of 333 MHz and one port: 247 MB/s and
    # 2.6 us between MPI processes; the second cluster of Danalis et al. (2007), section 4.1
    bandwidth=247 * MB,
    latency=1.6 * US,
    copy_bandwidth=_COPY_2007,
    copy_latency=0.5 * US,
    # 0.5 us at either end (assumed); MX copies what is smaller than 32 KiB, and hands the rest to
    # the card, which does the rendezvous by itself
    sending=(CostSegment(0, 0.5 * US, 1 / _COPY_2007), CostSegment(32768, 1 * US)),
    receiving=(CostSegment(0, 0.5 * US, 1 / _COPY_2007), CostSegment(32768, 1 * US)),
    test=0.2 * US,  # assumed
    eager=32768,
    collectives="mpich",
    assumed=(_MESSAGES, _TEST, _COPIES),
)
RDMA_ETHERNET_2007 = Network(
    name="rdma-1g-2007",
    title="RDMA over Ethernet 1 Gb/s (2007)",
    # The Ammasso 1100 of the first cluster of Danalis et al. (2007), section 4.1: TCP runs on the
    # card, so that the wire carries what it carries for TCP
    bandwidth=0.125 * GB * _FRAMES,
    # about 16 us in all (assumed, after Dalessandro and Wyckoff, Cluster 2005, and Reardon et al.,
    # 2005, who see it between TCP over Ethernet and InfiniBand)
    latency=14 * US,
    copy_bandwidth=_COPY_2007,
    copy_latency=0.5 * US,
    # 1 us at either end (assumed): a request is written to the card, which does all else
    sending=(CostSegment(0, 1 * US, 1 / _COPY_2007), CostSegment(8192, 1 * US)),
    receiving=(CostSegment(0, 1 * US, 1 / _COPY_2007), CostSegment(8192, 1 * US)),
    test=0.2 * US,  # assumed
    eager=8192,
    collectives="mpich",
    assumed=(_LATENCY, _MESSAGES, "what is copied", _TEST, _COPIES),
)
NETWORKS = (
    ETHERNET_1,
    ETHERNET_10,
    ETHERNET_25,
    INFINIBAND_HDR,
    INFINIBAND_DDR_2009,
    MYRINET_2007,
    RDMA_ETHERNET_2007,
)
