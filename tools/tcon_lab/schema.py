# SPDX-License-Identifier: GPL-2.0-only
"""The lab's formats as JSON Schema (draft 2020-12), for editors and other programs.

The schema of a file that the lab reads is made by its reader (:mod:`.experiment`).  The lab's own
files are declared here: each object holds all of its keys and no other.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, create_model

from .experiment.campaign_file import CampaignFile
from .experiment.published import Document
from .experiment.scenario_file import Name, ScenarioFile
from .experiment.toml import FormatSchema, Schema, one_of
from .numbers.results import LIMITS, SAMPLE_KEYS
from .scenario import MODES, Scenario

_Count = Annotated[int, Field(ge=0)]
_Share = Annotated[float, Field(ge=0, le=1)]
_Mode = one_of(MODES)
_Number = float | None


class _Whole(BaseModel):
    model_config = ConfigDict(extra="forbid", json_schema_serialization_defaults_required=True)


class _Sparse(_Whole):
    model_config = ConfigDict(json_schema_serialization_defaults_required=False)


def _of(name: str, kind: Any, *keys: str, **others: Any) -> Any:
    """An object whose keys are all of a kind, except for the others."""
    return create_model(name, __base__=_Whole, **dict.fromkeys(keys, kind) | others)


def _columns(name: str, kind: Any, *keys: str, **others: Any) -> Any:
    """Lists of the same length; empty ones are left out."""
    kinds = dict.fromkeys(keys, kind) | others
    fields = {key: (list[kind], Field([])) for key, kind in kinds.items()}
    return create_model(name, __base__=_Sparse, **fields)


_Queue = _of("Queue", float, "p50", "p99")
_Limits = _of("Limits", _Share, *LIMITS)
_QueueSample = _of("QueueSample", _Count, "packets", "bytes", "drops", t_s=float)
_Sample = _of(
    "Sample", _Number, *SAMPLE_KEYS, t_s=float, goodput_bps=_Count,
    retransmitted_bytes=_Count, tcon_state=str | None,
)  # fmt: skip
_Series = _of(
    "Series", float, "start_s", "step_s", cwnd_bytes=list[_Number], rtt_us=list[_Number]
)  # fmt: skip


class _Flow(_Whole):
    index: _Count
    table: _Count
    guest_cc: str
    cc: str
    kernel_params: dict[str, dict[str, int]]
    start_s: float
    seconds: float
    error: str | None
    goodput_bps: _Count | None
    rtt_us: _of("Rtt", _Number, "min", "p50", "p95", "p99") | None
    rtt_samples: _Count
    rtt_mean_us: float | None
    sent_bytes: _Count | None
    retransmitted_bytes: _Count | None
    cwnd_bytes: _of("Cwnd", float, "mean", "p50", "max") | None
    guest_srtt_us: _of("GuestSrtt", float, "min", "p50", "p99") | None
    guest_retransmits: _Count | None
    tcon_retransmits: _Count | None
    tcon_spurious: _Count | None
    tcon_probes: _Count | None
    tcon_timeouts: _Count | None
    state: str | None
    state_share: dict[str, _Share]
    reasons: list[str]


class _BulkFlow(_Flow):
    buffer_bytes: _of("Buffer", float, "p50", "max") | None
    limited_share: _Limits | None
    limited_share_settled: _Limits | None
    guest_marked_segments: _Count | None
    dctcp_alpha: _Share | None
    steal_share: _Share | None
    back_goodput_bps: _Count | None
    loss_period_s: float | None


class _TransferTimes(_Whole):
    bytes: _Count
    load_fraction: _Share | None
    fan_in: _Count
    seconds: _of("Seconds", float, "mean", "min", "p50", "p95", "p99", "max")
    each_s: Annotated[list[float], Field(min_length=1)]


class _Transfers(_Flow):
    transfers: _TransferTimes


class _SampledFlow(_BulkFlow):
    samples: list[_Sample]


class _SampledTransfers(_Transfers):
    samples: list[_Sample]


class _StoredFlow(_BulkFlow):
    series: _Series | None


class _Run(_Whole):
    mode: _Mode
    jain: _Share | None
    jain_per_second: list[_Share | None]
    jain_mean: _Share | None
    convergence_s: float | None
    loss_epochs: list[_of("Epoch", _Count, "flows", "running", t_s=float)]
    loss_synchronisation: _of("Synchronisation", _Share, "mean", "p50", epochs=_Count) | None
    utilisation: float
    goodput_bps: _Count
    queue_packets: _Queue | None
    queue_bytes: _Queue | None
    queue_marks: _Count | None
    queue_drops: _Count | None
    instructions_per_byte: float | None
    warnings: list[str]


class _SampledRun(_Run):
    queue_samples: list[_QueueSample]
    flows: Annotated[list[_SampledFlow | _SampledTransfers], Field(min_length=1)]


class _StoredRun(_Run):
    flows: Annotated[list[_StoredFlow | _Transfers], Field(min_length=1)]


class _Origin(_Whole):
    seed: _Count
    virtual_time: bool
    versions: dict[str, str]


class Results(_Origin):
    """One scenario with one seed."""

    scenario: Name
    definition: Scenario
    runs: Annotated[list[_SampledRun], Field(min_length=1)]


class Stored(_Origin):
    """A run's file in a campaign's folder, runs/KEY.json."""

    key: str
    scenario: Scenario
    mode: _Mode
    real_s: float
    run: _StoredRun


class _FlowColumns(_Whole):
    index: _Count
    columns: _columns("FlowColumns", _Number, "t_s", *SAMPLE_KEYS, tcon_state=str | None)


class Samples(_Whole):
    """A run's samples in a campaign's folder, samples/KEY.json.gz, unpacked."""

    flows: Annotated[list[_FlowColumns], Field(min_length=1)]
    queue: _columns("QueueColumns", float, "t_s", "packets", "bytes", "drops")


#: Formats that have a schema.
FORMATS: dict[str, Any] = {
    "scenario": ScenarioFile,
    "campaign": CampaignFile,
    "published": Document,
    "results": Results | Annotated[list[Results], Field(min_length=1)],
    "stored": Stored,
    "samples": Samples,
}


def schema(name: str) -> Schema:
    """The schema of one of FORMATS, as a document."""
    made = FORMATS[name]
    if hasattr(made, "schema_of"):
        found = made.schema_of()
    else:
        found = TypeAdapter(made).json_schema(mode="serialization", schema_generator=FormatSchema)
    dialect = FormatSchema.schema_dialect
    return {"$schema": dialect} | found | {"title": f"tcon-lab: {name}"}
