"""The one part that talks to the API server: the index of gangs, and Events for what nobody else would hear.

`rest` sends and reads, `watch` makes news of a resource from it, `tally` (pure) folds the news into what is known,
`index` keeps that in threads and answers look-ups; `events` (pure) and `notices` write Events; `published` reads and
writes what the keeper of certificates needs; `installation` reads what HAMi's own objects show of the stack. Verbs that
the ServiceAccount needs: list and watch on pods and on podgroups.scheduling.x-k8s.io, create on events, get on the
workload kinds whose owners are to be found, and what `published` and `installation` say.
"""

from webhook.cluster.index import Index, start_index
from webhook.cluster.installation import Seen, see
from webhook.cluster.notices import Notices, start_notices
from webhook.cluster.published import Published, Where
from webhook.cluster.rest import Api, Trouble, connect

__all__ = [
    "Api",
    "Index",
    "Notices",
    "Published",
    "Seen",
    "Trouble",
    "Where",
    "connect",
    "see",
    "start_index",
    "start_notices",
]
