"""Entry point of scheduling."""

from seatunnel_core.server.scheduling.decisions import Change, Decisions, End, Order, Record, Start
from seatunnel_core.server.scheduling.following import follow, orders_to_orphans
from seatunnel_core.server.scheduling.placing import place
from seatunnel_core.server.scheduling.view import View


def decide(view: View) -> Decisions:
    """Return the decisions for a view. Call this after each change; lost decisions are returned again."""
    records = sorted(view.jobs.values(), key=lambda each: (each.submitted_at, each.job_id))
    changes: list[Change] = []
    orders: list[Order] = []
    for record in records:
        decision = follow(view, record) if record.host else None
        if isinstance(decision, Record | End):
            changes.append(decision)
        elif decision is not None:
            orders.append(decision)
    orders += orders_to_orphans(view)
    orders.sort(key=lambda order: isinstance(order, Start))  # last: if a start fails, later orders are skipped
    placed, reasons = place(view, [record for record in records if not record.host])
    return Decisions(changes=(*changes, *placed), orders=tuple(orders), reasons=reasons)
