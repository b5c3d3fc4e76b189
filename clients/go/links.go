package contactbase

import (
	"context"
	"time"

	"contactbase/clients/go/internal/api"
)

// Role is what a portal link allows.
type Role string

// The roles of a portal link.
const (
	RoleViewer Role = "viewer" // only looks
	RoleAdmin  Role = "admin"  // also makes changes; the key needs the permission portal:link-admin
)

// PortalLinkOptions says what a portal link allows. The zero value is an hour for a viewer.
type PortalLinkOptions struct {
	Role     Role          // RoleViewer by default
	Name     string        // who uses the link: the portal and the list of members show it
	Duration time.Duration // from 5 minutes to 24 hours, an hour by default; whole seconds count
}

// PortalLink opens the portal of a tenant without a password until it expires. Create it when somebody opens the
// portal, and do not store it.
type PortalLink struct {
	ID      string // of its record in tenant_members
	URL     string // where to redirect the browser
	Token   string // the auth token in the URL
	Expires time.Time
}

// PortalLinks has the calls about portal links. Each returns an *Error if the installation rejects it.
type PortalLinks struct {
	api *api.Client
}

// Create creates a link to the key's tenant, whose ID it needs. The key needs the permission portal:link or
// portal:link-admin. A retry can leave a link that nobody uses, which expires.
func (l *PortalLinks) Create(
	ctx context.Context, tenantID string, link PortalLinkOptions, options ...RequestOption,
) (PortalLink, error) {
	body := api.PortalLinkRequest{Name: orNull(link.Name)}
	if link.Role != "" {
		role := api.PortalLinkRequestRole(link.Role)
		body.Role = &role
	}
	if link.Duration != 0 {
		seconds := int(link.Duration / time.Second)
		body.ExpiresIn = &seconds
	}
	answer, _, err := decode[api.PortalLinkResponse](l.api.CreatePortalLink(ctx, tenantID, nil, body, edit(options...)))
	if err != nil {
		return PortalLink{}, err
	}
	created := answer.Data
	return PortalLink{ID: created.Id, URL: created.Url, Token: created.Token, Expires: created.Expires}, nil
}
