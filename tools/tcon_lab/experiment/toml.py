# SPDX-License-Identifier: GPL-2.0-only
"""Files in TOML: a format is declared once, as classes derived from :class:`Table`.

Pydantic makes of them the reader and the JSON Schema (draft 2020-12).  An error in a file is told
in one sentence that starts with ``FILE:LINE:``.  Some rules are beyond a schema and stay with the
readers: that a queue holds a threshold, that names are there once.  So what a
reader takes fits the schema; not all that fits is taken.
"""

from __future__ import annotations

import contextlib
import pathlib
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic.json_schema import GenerateJsonSchema

from ..scenario import ScenarioError

Location = tuple[str | int, ...]
Schema = dict[str, Any]


# --- what is said ---------------------------------------------------------------


def kind_of(value: Any) -> str:
    """The kind of a TOML value, for messages."""
    kinds = {bool: "a boolean", int: "a number", float: "a number", str: "a string"}
    kinds |= {list: "a list", dict: "a table"}
    return kinds.get(type(value), "a date or time")


def label(at: Location) -> str:
    """How a message calls ``at``: ``path.rate``, ``flow 2's start``, ``bar 1``."""
    if len(at) > 1 and isinstance(at[1], int) and at[0] not in ("modes", "seeds"):
        rest = ".".join(map(str, at[2:]))
        return f"{at[0]} {at[1] + 1}" + (f"'s {rest}" if rest else "")
    return ".".join(part for part in at if isinstance(part, str))


class InputError(ValueError):
    """A value is wrong: ``what`` follows its name; it stands at ``at``, from where a
    validator that raises this looks.
    """

    said = "{label} {what}"

    def __init__(self, what: str, *at: str | int) -> None:
        super().__init__(what)
        self.what, self.at = what, at

    def sentence(self, at: Location) -> str:
        """The sentence about it where it stands at ``at`` of the file."""
        table = f" in [{at[0]}]" if len(at) > 1 else ""
        names = {"label": label(at), "list": label(at[:-1]), "key": at[-1:], "table": table}
        return self.said.format(what=self.what, **names)


class SentenceError(InputError):
    """The same where ``what`` is the whole sentence."""

    said = "{what}"


class TwiceError(InputError):
    """``what`` stands in a list a second time."""

    said = "{what} stands twice in {list}"


class UnknownKeyError(InputError):
    """A key that a table does not take; ``what`` are those that it does."""

    said = 'unknown key "{key[0]}"{table}; known keys are {what}'


#: Our words for pydantic's own findings, behind the value's name.
_FOUND = {
    "missing": "is missing",
    "string_type": "must be a string, not {}",
    "int_type": "must be a whole number, not {}",
    "float_type": "must be a number, not {}",
    "bool_type": "must be true or false, not {}",
    "dict_type": "must be a table, not {}",
}


def _first(error: ValidationError) -> tuple[Location, InputError]:
    """The place of pydantic's first finding, and what is wrong there."""
    found = error.errors(include_url=False)[0]
    at, kind, value = found["loc"], found["type"], kind_of(found["input"])
    if kind == "value_error":
        return at, found["ctx"]["error"]
    name = [part for part in at if isinstance(part, str)][-1]
    if kind == "list_type":
        return at, SentenceError(f"{name} must be written [[{name}]], not as {value}")
    if kind == "model_type":
        return at, SentenceError(f"{name} must be a table, not {value}")
    return at, InputError(_FOUND.get(kind, found["msg"]).format(value))


# --- files ----------------------------------------------------------------------


class Source:
    """The text of a file, which errors point into; ``document`` is what it holds.

    Raises ScenarioError where that is no TOML.
    """

    def __init__(self, text: str, file: str) -> None:
        self.text, self.file = text, file
        try:
            self.document = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ScenarioError(self._syntax_error(str(error))) from None

    def _syntax_error(self, message: str) -> str:
        """Turn tomllib's "... (at line 3, column 7)" into "FILE:3: ..."."""
        match = re.fullmatch(
            r"(.*) \(at (?:line (\d+), column \d+|end of document)\)", message, re.S
        )
        what, line = (match[1], match[2]) if match else (message, None)
        number = int(line) if line else max(1, len(self.text.splitlines()))
        return f"{self.file}:{number}: malformed TOML: {what[0].lower()}{what[1:]}."

    @contextlib.contextmanager
    def blamed(self, origin: dict[Location, Location] | None = None) -> Iterator[None]:
        """Turn errors in the block into a ScenarioError with file and line.

        ``origin``: where in the text a value stands that stands elsewhere in what is read.
        """
        try:
            yield
        except ValidationError as error:
            at, wrong = _first(error)
        except InputError as error:
            at, wrong = (), error
        else:
            return
        at = (*at, *wrong.at)
        what = wrong.sentence(at).replace("\n", "\\n")
        raise ScenarioError(f"{self.file}:{self._line(_placed(at, origin or {}))}: {what}.")

    def _line(self, at: Location) -> int:
        """The line of ``at``, or of the table that lacks it."""
        lines = locate(self.text)
        while at and at not in lines:
            at = at[:-1]
        return lines[at] if at else 1


def _placed(at: Location, origin: dict[Location, Location]) -> Location:
    """Where in the text stands what is read at ``at``."""
    for length in range(len(at), 0, -1):
        if at[:length] in origin:
            return (*origin[at[:length]], *at[length:])
    return at


def read_text(file: str | pathlib.Path) -> str:
    """The text of a TOML file.  Raises ScenarioError if there is none."""
    name = str(file)
    try:
        raw = pathlib.Path(file).read_bytes()
    except OSError as error:
        raise ScenarioError(f"{name}: cannot be read: {error.strerror}.") from None
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ScenarioError(f"{name}:{line}: this is not UTF-8 text.") from None


def _locations(value: Any, at: Location = ()) -> list[Location]:
    """Where each value of a TOML document stands, containers included."""
    children: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        children = list(value.items())
    elif isinstance(value, list):
        children = list(enumerate(value))
    return [at] + [found for key, child in children for found in _locations(child, (*at, key))]


def locate(text: str) -> dict[Location, int]:
    """The line on which each value of a valid TOML document is set.

    tomllib gives no positions.  But a TOML document cut between two statements
    is one too, and cut inside a statement is none; so what a line adds to the
    document before it is what the statement that ends there sets.  A statement
    of several lines counts as the line on which it begins.
    """
    lines = text.split("\n")
    found: dict[Location, int] = {}
    start = 0
    for end in range(1, len(lines) + 1):
        if start == end - 1 and re.match(r"\s*(#|$)", lines[start]):
            start = end
            continue
        try:
            document = tomllib.loads("\n".join(lines[:end]) + "\n")
        except tomllib.TOMLDecodeError:
            continue
        for location in _locations(document):
            found.setdefault(location, start + 1)
        start = end
    return found


# --- what formats are declared of -----------------------------------------------


def _key(name: str) -> str:
    return re.sub("_(bps|bytes|us|fraction|packets)$", "", name)


class Table(BaseModel):
    """A table that holds no key but its fields, whose names end in a unit where keys do not.

    Defaults are given as a file has them.
    """

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, validate_default=True, alias_generator=_key
    )

    @model_validator(mode="before")
    @classmethod
    def _knows(cls, table: Any) -> Any:
        known = [field.alias or name for name, field in cls.model_fields.items()]
        for key in table if isinstance(table, dict) else ():
            if key not in known:
                raise UnknownKeyError(", ".join(known), key)
        return table

    @classmethod
    def schema_of(cls) -> Schema:
        """The JSON Schema of the table."""
        return cls.model_json_schema(schema_generator=_TomlSchema)


class FormatSchema(GenerateJsonSchema):
    """A JSON Schema in which a field's name says it all."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Not beside the name."""
        return False


class _TomlSchema(FormatSchema):
    """TOML has no null: a field that may be None may be left out."""

    def nullable_schema(self, schema: Any) -> Schema:
        """The schema of a value that may be None."""
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: Any) -> Schema:
        """The schema of a value that has a default."""
        if schema.get("default") is None:
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)


def checked(read: Callable[[Any], Any], schema: Schema, kind: Any = Any) -> Any:
    """A value of this kind; ``read`` makes the field's of it or raises InputError."""
    return Annotated[kind, AfterValidator(read), WithJsonSchema(schema)]


def number(test: Callable[[float], bool], what: str, kind: type = float, **schema: Any) -> Any:
    """A number that passes a test; ``what`` is said of others behind it, as in "is 3: odd"."""

    def read(value: float) -> float:
        if not test(value):
            shown = str(value).removesuffix(".0")
            raise InputError(f"is {shown}{what}")
        return value

    return checked(read, {"type": "integer" if kind is int else "number", **schema}, kind)


def whole(low: int, high: int) -> Any:
    """A whole number within low .. high."""
    what = f", not within {low} .. {high}"
    return number(lambda n: low <= n <= high, what, int, minimum=low, maximum=high)


def one_of(known: Iterable[str], what: str = "") -> Any:
    """One of these words; ``what`` is said of another."""
    words = tuple(known)

    def read(value: str) -> str:
        if value not in words:
            raise InputError(f'is "{value}"{what}; known are {", ".join(words)}')
        return value

    return checked(read, {"enum": list(words)}, str)


def several(what: str, items: Schema, check: Callable[[Any], str] = str, least: int = 1) -> Any:
    """A list of ``what``, each once; ``check`` names one, or raises InputError."""

    def read(values: Any) -> tuple[Any, ...]:
        if not isinstance(values, list) or len(values) < least:
            found = "an empty list" if values == [] else kind_of(values)
            raise InputError(f"must be a list of {what}, not {found}")
        for index, value in enumerate(values):
            try:
                name = check(value)
            except InputError as error:
                raise type(error)(error.what, index) from None
            if value in values[:index]:
                raise TwiceError(name, index)
        return tuple(values)

    schema = {"type": "array", "items": items, "minItems": least, "uniqueItems": True}
    return checked(read, schema)


_NUMBER = r"\d+(\.\d+)?"


def amount(text: str, units: dict[str, int], high: int) -> Decimal:
    """A number with one of ``units``, in the base unit, within 0 .. high.

    ``high`` is in the last of the units.  Raises InputError.
    """
    names = list(units)
    choice = " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    match = re.fullmatch(rf"(-?{_NUMBER})\s*([A-Za-z%]*)", text.strip())
    if not match:
        raise InputError(f'is "{text}", which is no number with unit {choice}')
    sign, unit = match[1][0], match[3]
    if not unit:
        raise InputError(f'is "{text}" without a unit: {choice}')
    if unit not in units:
        raise InputError(f'is "{text}": unknown unit "{unit}", not {choice}')
    if sign == "-":
        raise InputError(f'is "{text}": it cannot be negative')
    value = Decimal(match[1]) * units[unit]
    if value > high * units[names[-1]]:
        raise InputError(f'is "{text}": more than {high}{names[-1]}')
    return value


def pattern(units: Iterable[str]) -> str:
    """Fits a number with one of ``units``."""
    return rf"{_NUMBER}\s*({'|'.join(units)})"


def quantity(
    units: dict[str, int], high: int, read: Callable[[Decimal, str], Any], what: str
) -> Any:
    """A string as :func:`amount` takes it; ``read`` makes the value of number and string."""
    schema = {"type": "string", "pattern": rf"^\s*{pattern(units)}\s*$", "description": what}
    return checked(lambda text: read(amount(text, units, high), text), schema, str)
