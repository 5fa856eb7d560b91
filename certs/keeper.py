"""The thread that keeps one replica's certificate good, and what the threads that serve may ask it.

It looks every ten seconds. While the API server is away it goes on with what it last knew, looks less often, and says
so once.
"""

from __future__ import annotations

import logging
import threading
from datetime import datetime, timedelta

from certs.authority import Pair
from certs.plan import Held, Published, is_trusted
from certs.rounds import Dice, Rounds
from certs.store import Away

LONGEST_WAIT = timedelta(seconds=30)
SOONEST = timedelta(seconds=0.2)
_log = logging.getLogger(__name__)


class Keeper:
    """One replica's certificate. `pair`, `trusted`, `now` and `authority_expiry` may be called from any thread.

    An object and no value: one thread changes what the others read, each time as a whole.
    """

    def __init__(self, rounds: Rounds, dice: Dice) -> None:
        self._rounds = rounds
        self._dice = dice
        self._held = Held()
        self._trusted = False
        self._failures = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="certificates", daemon=True)

    def pair(self) -> Pair | None:
        """The leaf to serve; None until there is one."""
        leaf = self._held.leaf
        return leaf.pair if leaf else None

    def trusted(self) -> bool:
        """Whether every caBundle held the leaf's authority when the API server was last asked."""
        return self._trusted

    def now(self) -> datetime:
        return self._rounds.clock.now()

    def authority_expiry(self) -> datetime | None:
        """When the youngest authority expires; None while none is known."""
        ring = [authority for authority in self._held.ring if authority.key]
        return ring[-1].expires if ring else None

    def start(self) -> None:
        """In the process that serves: a thread does not outlive a fork."""
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join(1)

    def look(self) -> timedelta:
        """One look at what is published, and all that follows from it. Returns how long to wait for the next."""
        try:
            done = self._rounds.run(self._held)
        except Away as away:
            self._failures += 1
            self._rounds.told.trouble("API server", f"{away}; certificates go on as they are", logging.WARNING)
            self._held = self._rounds.alone(self._held)
        else:
            self._failures = 0
            self._rounds.told.trouble("API server", "")
            self._take(done.held, done.published)
        return self._wait()

    def _take(self, held: Held, published: Published) -> None:
        self._held = held
        if held.leaf is None:
            self._rounds.told.fault("certificate", "there is none, since no authority can sign one; see above")
        elif published.complete:  # else nothing new is known, and what was true is believed
            self._trusted = is_trusted(published, held.leaf.issuer)
            why = "not every caBundle trusts it" if published.bundles else "no webhook is registered"
            self._rounds.told.fault("certificate", "" if self._trusted else why)

    def _wait(self) -> timedelta:
        """Until the next look, or until the leaf is due if that is sooner. A little uneven, so that replicas do not
        look all at once."""
        poll = self._rounds.settings.poll
        wait = min(poll * 2.0 ** min(self._failures, 5), max(LONGEST_WAIT, poll)) * (1 - 0.2 * self._dice())
        leaf = self._held.leaf
        due = leaf.renew - self.now() if leaf else wait
        return min(wait, max(due, SOONEST if due > timedelta() else min(poll, wait)))

    def _keep(self) -> None:
        """The thread's whole life. It must not end by an accident, or the certificate would expire."""
        while not self._over.is_set():
            try:
                wait = self.look()
            except Exception:  # noqa: BLE001 - see above
                _log.exception("the keeper of certificates met a bug and starts anew")
                wait = LONGEST_WAIT
            self._over.wait(wait.total_seconds())
