from __future__ import annotations

from typing import TypedDict

from ._transport import Transport, part


class PortalLink(TypedDict):
    """Opens the portal of a tenant without a password until it expires.

    Create it when somebody opens the portal, and do not store it.
    """

    id: str
    """Of its record in ``tenant_members``."""

    url: str
    """Where to redirect the browser."""

    token: str
    """The auth token in the address."""

    expires: str


class PortalLinks:
    """The calls about portal links. Each raises a ContactbaseError if the installation rejects it."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(
        self,
        tenant_id: str,
        *,
        role: str | None = None,
        name: str | None = None,
        expires_in: int | None = None,
        request_id: str | None = None,
    ) -> PortalLink:
        """Create a link to the key's tenant, whose ID it needs, by default an hour for a ``viewer``.

        The key needs the permission ``portal:link``, or ``portal:link-admin`` for the role ``admin``. ``name`` says who
        uses the link, and ``expires_in`` is from 300 to 86,400 seconds. A retry can leave a link that nobody uses, which
        expires.
        """
        body = {"role": role, "name": name, "expiresIn": expires_in}
        link: PortalLink = self._transport.call(
            "POST",
            f"/api/integrations/tenants/{part(tenant_id)}/portal-link",
            body={key: value for key, value in body.items() if value is not None},
            headers={"X-Request-Id": request_id},
        ).json()["data"]
        return link
