"""Client of the Contactbase API: contacts, and the feed of their events.

``contactbase.webhook`` verifies the events that an installation sends. The client uses only the standard library.
"""

from ._client import Contactbase
from ._contacts import BatchItem, BatchOutcome, BatchResult, Contact, Contacts, Count, Filter
from ._errors import ContactbaseError, FieldError
from ._events import Event, Events, Feed
from ._links import PortalLink, PortalLinks

__all__ = [
    "BatchItem",
    "BatchOutcome",
    "BatchResult",
    "Contact",
    "Contactbase",
    "ContactbaseError",
    "Contacts",
    "Count",
    "Event",
    "Events",
    "Feed",
    "FieldError",
    "Filter",
    "PortalLink",
    "PortalLinks",
]
