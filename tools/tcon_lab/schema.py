# SPDX-License-Identifier: GPL-2.0-only
"""The lab's formats as JSON Schema (draft 2020-12), for editors and other programs.

They are made of what the readers themselves know (names, units, keys of dataclasses),
not kept as files.  What a schema cannot say stays with the readers: that a queue holds
a threshold, that names are there once, that a case's key is not the matrix' too.  So
what a reader takes fits the schema; not all that fits is taken.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable
from typing import Any

from . import aqm
from .experiment import published
from .experiment.campaign import METRICS, RATIOS
from .numbers.results import LIMITS, SAMPLE_KEYS
from .scenario import (
    ENFORCE_CCS,
    GUEST_CCS,
    MAX_FLOWS,
    MAX_SECONDS,
    MAX_SEED,
    MAX_TRANSFERS,
    MODES,
    RATE_UNITS,
    SIZE_UNITS,
    TIME_UNITS,
    Scenario,
)

Schema = dict[str, Any]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_NUMBER = r"\d+(\.\d+)?"

STRING: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
COUNT: Schema = {"type": "integer", "minimum": 0}
SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
BOOLEAN: Schema = {"type": "boolean"}


def _table(properties: dict[str, Schema], required: tuple[str, ...] = ()) -> Schema:
    """An object that holds these and nothing else."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _whole(properties: dict[str, Schema]) -> Schema:
    """An object that holds all of these and nothing else."""
    return _table(properties, tuple(properties))


def _list(items: Schema, least: int = 0) -> Schema:
    return {"type": "array", "items": items, "minItems": least}


def _map(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _one_of(names: typing.Iterable[str]) -> Schema:
    return {"enum": list(names)}


def _quantity(units: typing.Iterable[str], what: str) -> Schema:
    pattern = rf"^\s*{_NUMBER}\s*({'|'.join(units)})\s*$"
    return {"type": "string", "pattern": pattern, "description": what}


def _described(schema: Schema, what: str) -> Schema:
    return schema | {"description": what}


# --- scenarios and campaigns ------------------------------------------------

_TIME = _quantity(TIME_UNITS, "a time")
_PERCENT = _quantity(["%"], "a percentage")
_PACKETS = _quantity(["p"], "a number of packets")
_QUEUE = {
    "type": "string",
    "pattern": rf"^\s*({_NUMBER}\s*(bdp|p)|{_NUMBER}\s*bdp\s*,\s*{_NUMBER}\s*p)\s*$",
    "description": "packets, BDPs, or the larger of both: 1.0bdp,50p",
}
_SEED: Schema = {"type": "integer", "minimum": 0, "maximum": MAX_SEED}
_SECONDS: Schema = {"type": "number", "exclusiveMinimum": 0, "maximum": MAX_SECONDS}
_NAME: Schema = {"type": "string", "pattern": r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"}
_MODES = _list(_one_of(MODES), 1) | {"uniqueItems": True}

_AQM: dict[str, Schema] = {
    "aqm": _one_of(aqm.KINDS),
    "aqm_threshold": _PACKETS,
    "aqm_min": _PACKETS,
    "aqm_max": _PACKETS,
    "aqm_probability": _PERCENT,
    "aqm_target": _TIME,
    "aqm_interval": _TIME,
    "aqm_tupdate": _TIME,
    "aqm_ecn": BOOLEAN,
}
_VARIED_PATH: dict[str, Schema] = {
    "rate": _quantity(RATE_UNITS, "the bottleneck's rate"),
    "rtt": _described(_TIME, "the base round trip"),
    "loss": _described(_PERCENT, "of packets in the data direction"),
    "queue": _QUEUE,
    **_AQM,
}
_PATH = _VARIED_PATH | {
    "duplicate": _PERCENT,
    "corrupt": _PERCENT,
    "reorder": _PERCENT,
    "reorder_by": _TIME,
}
_VARIED_FLOW: dict[str, Schema] = {
    "count": {"type": "integer", "minimum": 1, "maximum": MAX_FLOWS},
    "guest_cc": _described(_one_of(GUEST_CCS), "the guest's own stack"),
    "native_cc": _described(_one_of(GUEST_CCS), "the guest's own stack in mode native"),
    "enforce": _described(_one_of(ENFORCE_CCS), "what TCon enforces in mode enforced"),
    "receiver_tcon": BOOLEAN,
}
_FLOW = _VARIED_FLOW | {
    "start": _TIME,
    "extra_delay": _TIME,
    "extra_loss": _PERCENT,
    "ipv6": BOOLEAN,
    "tso": BOOLEAN,
    "gso": BOOLEAN,
    "quickack": BOOLEAN,
    "ecn": BOOLEAN,
}
_VARIED_TRANSFER: dict[str, Schema] = {
    "bytes": _quantity(SIZE_UNITS, "of each transfer"),
    "load": _described(_PERCENT, "this share of the rate, at random times"),
}
_TRANSFER = (
    _FLOW
    | _VARIED_TRANSFER
    | {"count": {"type": "integer", "minimum": 1, "maximum": MAX_TRANSFERS}}
)
_CC: Schema = {
    "anyOf": [_one_of(ENFORCE_CCS), _list(_one_of(ENFORCE_CCS), 1)],
    "description": "native_cc and enforce of every flow, or of each",
}
#: In a campaign's matrix and cases, with the schema of one value.
_VARIED = _VARIED_PATH | _VARIED_FLOW | {"cc": _CC} | _VARIED_TRANSFER
#: "count" is a flow's or a transfer's there.
_VARIED["count"] = _TRANSFER["count"]


def scenario_schema() -> Schema:
    """Of a scenario file, as in ``tools/scenarios``."""
    return _table(
        {
            "name": _NAME,
            "seconds": _SECONDS,
            "modes": _MODES,
            "seed": _SEED,
            "path": _table(_PATH, ("rate", "rtt")),
            "flow": _list(_table(_FLOW, ("guest_cc",)), 1),
            "transfer": _list(_table(_TRANSFER, ("guest_cc", "bytes")), 1),
        },
        ("name", "seconds", "path"),
    ) | {"anyOf": [{"required": ["flow"]}, {"required": ["transfer"]}]}


def campaign_schema() -> Schema:
    """Of a campaign file, as in ``tools/campaigns``."""
    flows = {"flow": _list(_table(_FLOW), 1), "transfer": _list(_table(_TRANSFER), 1)}
    several = {key: _list(value, 1) | {"uniqueItems": True} for key, value in _VARIED.items()}
    seeds = _list(_SEED, 1) | {"uniqueItems": True}
    bar = {
        "metric": _one_of(METRICS),
        **{key: {"type": "number", "minimum": 0} for key in ("min", "max", "aim")},
        "rtt_max": _TIME,
        "loss_max": _PERCENT,
        "guest_cc": _list(STRING),
        "receiver_tcon": BOOLEAN,
        "over": _one_of(["cells", "mean"]),
    }
    wanted = {"anyOf": [{"required": [key]} for key in ("min", "max", "aim")]}
    mean = {
        "if": {"properties": {"over": {"const": "mean"}}, "required": ["over"]},
        "then": {"properties": {"metric": _one_of(RATIOS)}},
    }
    short = _table({"seconds": _SECONDS, "seeds": seeds, "case": _list(STRING, 1), **several})
    return _table(
        {
            "name": _NAME,
            "seconds": _SECONDS,
            "modes": _MODES,
            "seeds": seeds,
            "path": _table(_PATH),
            **flows,
            "matrix": _table(several),
            "case": _list(_table({"name": STRING, **_VARIED, **flows}, ("name",))),
            "bar": _list(_table(bar, ("metric",)) | wanted | mean),
            "published": _described(STRING, "a file as in tools/published, from this folder"),
            "short": short | {"minProperties": 1},
        },
        ("name", "seconds"),
    )


def published_schema() -> Schema:
    """Of a file of published numbers, as in ``tools/published``."""
    unit = {"description": "; ".join(f"{unit}: {what}" for unit, what in published.UNITS.items())}
    number = {"type": "number", "minimum": 0}
    by_mode = _table(dict.fromkeys(MODES, number))
    words = _list(STRING, 1)
    notes = {"where": STRING, "campaign": STRING, "note": STRING}
    column = {
        "type": "array",
        "prefixItems": [STRING, _one_of(published.UNITS) | unit],
        "minItems": 2,
        "maxItems": 2,
    }
    cell = {"anyOf": [number, STRING, words], "description": "- is nothing"}
    table = {"name": STRING, "title": STRING, "columns": _list(column, 1)}
    table["rows"] = _list(_list(cell, 1), 1)
    seconds = {"seconds": {"type": "number", "exclusiveMinimum": 0}}
    units = _one_of(unit for unit in published.UNITS if unit != "text")
    value = {"quantity": STRING, "unit": units, "of": _map(STRING)}
    value |= dict.fromkeys(("value", "low", "high", "spread"), number)
    completion = {"case": STRING, "where": STRING, "mean_s": by_mode, "most_within_s": by_mode}
    completion["p999_reduction"] = _table(dict.fromkeys(MODES, SHARE))
    tables = {
        "table": _table(table | notes | seconds, (*table, "where")),
        "value": _table(value | notes, ("quantity", "unit", "where")),
        "completion": _table(completion, ("case", "where", "mean_s")),
    }
    return _table({"source": STRING} | {k: _list(v) for k, v in tables.items()}, ("source",))


# --- results ----------------------------------------------------------------


def _of_type(kind: Any) -> Schema:
    """What a dataclass's field becomes in JSON."""
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        return _whole({f.name: _of_type(hints[f.name]) for f in dataclasses.fields(kind)})
    if isinstance(kind, types.UnionType):
        return {"anyOf": [_of_type(part) for part in typing.get_args(kind)]}
    if typing.get_origin(kind) is tuple:
        return _list(_of_type(typing.get_args(kind)[0]))
    names = {str: "string", int: "integer", float: "number", bool: "boolean"}
    return {"type": names.get(kind, "null")}


def _spread(*names: str) -> Schema:
    return _or_null(_whole(dict.fromkeys(names, NUMBER)))


def _flow_results(with_samples: bool) -> Schema:
    number, count = _or_null(NUMBER), _or_null(COUNT)
    rtt = dict.fromkeys(("min", "p50", "p95", "p99"), number)
    limits = _or_null(_whole(dict.fromkeys(LIMITS, SHARE)))
    always = {
        "index": COUNT,
        "table": COUNT,
        "guest_cc": STRING,
        "cc": STRING,
        "start_s": NUMBER,
        "seconds": NUMBER,
        "error": _or_null(STRING),
        "goodput_bps": count,
        "rtt_us": _or_null(_whole(rtt)),
        "rtt_samples": COUNT,
        "rtt_mean_us": number,
        "sent_bytes": count,
        "retransmitted_bytes": count,
        "cwnd_bytes": _spread("mean", "p50", "max"),
        "guest_srtt_us": _spread("min", "p50", "p99"),
        "guest_retransmits": count,
        **dict.fromkeys(
            ("tcon_retransmits", "tcon_spurious", "tcon_probes", "tcon_timeouts"), count
        ),
        "state": _or_null(STRING),
        "state_share": _map(SHARE),
        "reasons": _list(STRING),
    }
    sample = dict.fromkeys(SAMPLE_KEYS, number) | {
        "t_s": NUMBER,
        "goodput_bps": COUNT,
        "retransmitted_bytes": COUNT,
        "tcon_state": _or_null(STRING),
    }
    if with_samples:
        always["samples"] = _list(_whole(sample))
    bulk = {
        "copy_bytes": _spread("p50", "max"),
        "limited_share": limits,
        "limited_share_settled": limits,
        "dctcp_alpha": _or_null(SHARE),
        "loss_period_s": number,
    }
    if not with_samples:
        points = dict.fromkeys(("cwnd_bytes", "rtt_us"), _list(number))
        bulk["series"] = _or_null(_whole({"start_s": NUMBER, "step_s": NUMBER, **points}))
    seconds = _whole(dict.fromkeys(("mean", "min", "p50", "p95", "p99", "max"), NUMBER))
    transfers = {
        "bytes": COUNT,
        "load_fraction": _or_null(SHARE),
        "seconds": seconds,
        "each_s": _list(NUMBER, 1),
    }
    return {"anyOf": [_whole(always | bulk), _whole(always | {"transfers": _whole(transfers)})]}


def run_schema(with_samples: bool = True) -> Schema:
    """Of a run in results.json; without samples, of one in a campaign's folder."""
    epoch = _whole({"t_s": NUMBER, "flows": COUNT, "running": COUNT})
    sync = _whole({"mean": SHARE, "p50": SHARE, "epochs": COUNT})
    sample = _whole({"t_s": NUMBER, "packets": COUNT, "bytes": COUNT, "drops": COUNT})
    return _whole(
        {
            "mode": _one_of(MODES),
            "jain": _or_null(SHARE),
            "jain_per_second": _list(_or_null(SHARE)),
            "jain_mean": _or_null(SHARE),
            "convergence_s": _or_null(NUMBER),
            "loss_epochs": _list(epoch),
            "loss_synchronisation": _or_null(sync),
            "utilisation": NUMBER,
            "goodput_bps": COUNT,
            "queue_packets": _spread("p50", "p99"),
            "queue_bytes": _spread("p50", "p99"),
            "queue_marks": _or_null(COUNT),
            "queue_drops": _or_null(COUNT),
            "instructions_per_byte": _or_null(NUMBER),
            **({"queue_samples": _list(sample)} if with_samples else {}),
            "warnings": _list(STRING),
            "flows": _list(_flow_results(with_samples), 1),
        }
    )


def results_schema() -> Schema:
    """Of results.json: one scenario with one seed, or a list of such."""
    result = _whole(
        {
            "scenario": _NAME,
            "seed": _SEED,
            "virtual_time": BOOLEAN,
            "versions": _map(STRING),
            "definition": _of_type(Scenario),
            "runs": _list(run_schema(), 1),
        }
    )
    return {"$defs": {"result": result}, "anyOf": [
        {"$ref": "#/$defs/result"}, _list({"$ref": "#/$defs/result"}, 1)
    ]}  # fmt: skip


def stored_schema() -> Schema:
    """Of a run's file in a campaign's folder, runs/KEY.json."""
    return _whole(
        {
            "key": STRING,
            "scenario": _of_type(Scenario),
            "mode": _one_of(MODES),
            "seed": _SEED,
            "virtual_time": BOOLEAN,
            "versions": _map(STRING),
            "real_s": NUMBER,
            "run": run_schema(with_samples=False),
        }
    )


def samples_schema() -> Schema:
    """Of a run's samples in a campaign's folder, samples/KEY.json.gz, unpacked."""
    numbers, words = _list(_or_null(NUMBER)), _list(_or_null(STRING))
    columns = {key: words if key == "tcon_state" else numbers for key in ("t_s", *SAMPLE_KEYS)}
    queue = dict.fromkeys(("t_s", "packets", "bytes", "drops"), _list(NUMBER))
    flow = _whole({"index": COUNT, "columns": _table(columns)})
    return _whole({"flows": _list(flow, 1), "queue": _table(queue)})


#: What there is a schema of.
FORMATS: dict[str, Callable[[], Schema]] = {
    "scenario": scenario_schema,
    "campaign": campaign_schema,
    "published": published_schema,
    "results": results_schema,
    "stored": stored_schema,
    "samples": samples_schema,
}


def schema(name: str) -> Schema:
    """The schema of one of FORMATS, as a document."""
    made = FORMATS[name]()
    return {"$schema": _DIALECT, "title": f"tcon-lab: {name}"} | made
