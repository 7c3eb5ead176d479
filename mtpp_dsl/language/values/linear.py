"""Terms that are not linear: ``max(…)``, where rows can say the same, and what to write in place of others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mtpp_dsl.core.base.exact_numbers import from_float, settled
from mtpp_dsl.core.constraints import Largest
from mtpp_dsl.core.text.source import Span
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.values.values import Affine

MAX_ROWS = 10_000
"""More rows in place of one are refused."""


def only_pushed_down(value: Affine, operator: str) -> bool:
    """Return whether every ``max(…)`` of *value* can only become small: it is minimised, or limited from above."""
    for decision, a in value.terms.items():
        if isinstance(decision, Largest) and a:
            if operator == "==" or (a > 0) != (operator == "<="):
                return False
            inner = (Affine({x: from_float(b) for x, b in terms}) for terms, _ in decision.sums)
            if not all(only_pushed_down(total, "<=") for total in inner):
                return False
    return True


def without_maxima(row: Affine) -> Iterator[Affine]:
    """Yield the rows, each without ``max(…)``, that together say that *row* is at most, or at least, zero.

    Raises:
        OverflowError: they are more than :data:`MAX_ROWS`.
    """
    rows, left = [row], True
    while left:
        left, fresh = False, []
        for old in rows:
            decision = next((x for x, a in old.terms.items() if isinstance(x, Largest) and a), None)
            if decision is None or not isinstance(decision, Largest):
                fresh.append(old)
                continue
            left = True
            factor = old.terms[decision]
            for terms, constant in decision.sums:
                total = {x: a for x, a in old.terms.items() if x != decision}
                for x, a in terms:
                    total[x] = settled(total.get(x, 0) + factor * from_float(a))
                fresh.append(Affine(total, settled(old.constant + factor * from_float(constant)), old.dimension))
        rows = fresh
        if len(rows) > MAX_ROWS:
            raise OverflowError(f"max(…) stands for more than {MAX_ROWS:,} inequalities")
    yield from rows


def is_not_linear(message: str) -> bool:
    """Return whether a message is about a term that is not linear."""
    return message.endswith("is not linear")


def mismatch_code(message: str) -> str:
    """Return the code of what is said of values that do not go together."""
    if "not linear" in message:
        return "MTPP-E212"
    if message == "division by zero" or message.endswith(("is not defined", "of nothing")):
        return "MTPP-E216"
    if "too large" in message or "at most" in message:
        return "MTPP-E215"
    dimensions = message.startswith(("cannot add a", "cannot compare")) and "a s" not in message[:13]
    return "MTPP-E213" if dimensions or "without a unit" in message else "MTPP-E210"


def general_remedy(message: str) -> list[str]:
    """Return what to say about a term that is not linear, wherever it stands."""
    if message.startswith("max"):
        return ["a limit on the largest is one on each: forall d in devices: load(d) <= …"]
    if message.startswith("min"):
        return ["a limit on the smallest is one on each: forall d in devices: load(d) >= …"]
    return ["decisions are added up, and multiplied by numbers"]


def remedy(body: tree.Expression, quantifiers: Sequence[tree.Quantifier], at: Span) -> str:
    """Return an inequality, or several, that say what *body* means; "" where nothing linear does.

    Args:
        body: of a labelled constraint, which is not linear.
        quantifiers: before it.
        at: the place of the term that is not linear.
    """
    before = "".join(_forall(quantifier.binders, quantifier.condition) for quantifier in quantifiers)
    if isinstance(body, tree.Compare) and body.operator in ("<=", ">=", "=="):
        instead = _quotient(body, at) or _product(body, at) or _extreme(body, at) or _absolute(body, at)
        return f"write: {before}{instead}" if instead else _impossible(body, at)
    return ""


def condition_remedy(body: tree.Expression) -> str:
    """Return what to write in place of decisions that are taken for true or false; "" if *body* is something else."""
    if isinstance(body, tree.Not) and _is_on(body.operand):
        return f"write: {body.operand.span.text} == 0"
    if _is_on(body):
        return f"write: {body.span.text} == 1"
    if isinstance(body, tree.Logic) and body.operator == "or":
        placed = [
            o.left if isinstance(o, tree.Compare) and o.operator == "==" and o.right.span.text == "1" else o
            for o in body.operands
        ]
        if all(map(_is_on, placed)):
            return f"write: {' + '.join(term.span.text for term in placed)} >= 1"
        return "a plan must satisfy every inequality: 'one of several' cannot be asked for"
    return ""


def _is_on(node: tree.Expression) -> bool:
    return isinstance(node, tree.Call) and node.function.text == "on"


def _forall(binders: Sequence[tree.Binder], condition: tree.Expression | None) -> str:
    texts = [f"forall {binder.name.text} in {binder.domain.span.text}" for binder in binders]
    return ": ".join(texts) + (f" if {condition.span.text}" if condition is not None else "") + ": "


def _term(node: tree.Expression) -> str:
    """Return the text of a factor: a sum in brackets."""
    return f"({node.span.text})" if isinstance(node, tree.Chain) else node.span.text


def _low_and_high(body: tree.Compare) -> tuple[tree.Expression, tree.Expression]:
    """Return the side that is to be at most the other, and the other."""
    return (body.right, body.left) if body.operator == ">=" else (body.left, body.right)


def _call_at(side: tree.Expression, at: Span) -> tuple[tree.Call, bool] | None:
    """Return the call at a place where it is a side of an inequality, or is added there; and whether it is added."""
    terms = [(side, True)]
    if isinstance(side, tree.Chain) and side.operators[0] in "+-":
        terms = list(zip(side.operands, [True, *(sign == "+" for sign in side.operators)], strict=True))
    for term, added in terms:
        if isinstance(term, tree.Call) and term.span == at:
            return term, added
    return None


def _extreme(body: tree.Compare, at: Span) -> str:
    """Return the inequalities that say the same as one about the largest or the smallest of several."""
    if body.operator == "==":
        return ""
    low, high = _low_and_high(body)
    for side, is_low in ((low, True), (high, False)):
        place = _call_at(side, at)
        if place is None or place[0].function.text != ("max" if place[1] == is_low else "min"):
            continue
        call = place[0]
        text, begin = body.span.text, body.span.start
        written = [
            text[: at.start - begin]
            + (argument.span.text if side is call else _term(argument))
            + text[at.stop - begin :]
            for argument in call.arguments
        ]
        if call.clauses is not None:
            return _forall(call.clauses.binders, call.clauses.condition) + written[0]
        return " and ".join(written) if len(written) > 1 else ""
    return ""


def _absolute(body: tree.Compare, at: Span) -> str:
    low, high = _low_and_high(body)
    if isinstance(low, tree.Call) and low.span == at and low.function.text == "abs" and body.operator != "==":
        inner = low.arguments[0].span.text
        return f"{inner} <= {high.span.text} and {inner} >= -{_term(high)}"
    return ""


def _quotient(body: tree.Compare, at: Span) -> str:
    left, right = body.left, body.right
    if isinstance(left, tree.Chain) and left.operators == ("/",) and left.span == at:
        over, under = left.operands
        return f"{over.span.text} {body.operator} {_term(right)} * {_term(under)}"
    return ""


def _product(body: tree.Compare, at: Span) -> str:
    """Return that two nodes are not both where they are, which is what a product of two of them that is 0 says."""
    left, right = body.left, body.right
    if not isinstance(left, tree.Chain) or set(left.operators) != {"*"} or left.span != at:
        return ""
    zero = isinstance(right, tree.Number) and right.value == 0 and body.operator in ("<=", "==")
    return f"{' + '.join(o.span.text for o in left.operands)} <= {len(left.operands) - 1}" * (
        zero and all(map(_is_on, left.operands))
    )


def _impossible(body: tree.Compare, at: Span) -> str:
    """Return why nothing linear says what is meant: one of several is to be large, or small."""
    for side in (body.left, body.right):
        place = _call_at(side, at)
        if place is not None and place[0].function.text in ("max", "min"):
            return "'at least one satisfies it' is not linear; 'each satisfies it' is: forall d in …: …"
    return ""
