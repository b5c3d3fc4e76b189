from __future__ import annotations

from urllib.parse import urlsplit

from ._contacts import Contacts
from ._events import Events
from ._links import PortalLinks
from ._transport import Transport


class Contactbase:
    """Calls an installation with an API key.

    It retries temporary failures with increasing delays. All attempts of a POST carry the same ``Idempotency-Key``, so
    nothing is written twice. Threads can share a client.
    """

    contacts: Contacts
    """The contacts of the key's tenant."""

    events: Events
    """The feed of their events."""

    portal_links: PortalLinks
    """Links that lead people to the portal of the key's tenant."""

    def __init__(self, url: str, key: str, *, max_retries: int = 8, timeout: float = 45.0) -> None:
        """Return a client of the installation at an address such as ``https://crm.example.com``.

        The default of 8 retries takes about 30 seconds; 0 disables retries. ``timeout`` is that of a network operation
        in seconds.
        """
        address = urlsplit(url)
        if address.scheme not in ("http", "https") or not address.hostname or address.query or address.fragment:
            raise ValueError(f"{url!r} is not an address such as https://crm.example.com")
        if not key or not key.strip():
            raise ValueError("there is no API key")
        transport = Transport(url.rstrip("/"), key.strip(), max_retries, timeout)
        self.contacts = Contacts(transport)
        self.events = Events(transport)
        self.portal_links = PortalLinks(transport)
