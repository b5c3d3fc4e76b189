import { type Api, type CallOptions, init } from "./call.js";
import { must } from "./errors.js";
import type { components } from "./schema.js";

type Schemas = components["schemas"];

/** What a portal link allows. By default, it lets a viewer in for an hour. */
export type PortalLinkOptions = Partial<Schemas["PortalLinkRequest"]>;

/**
 * Opens the portal of a tenant without a password until it expires. Create it when somebody opens the portal, and do not
 * store it.
 */
export type PortalLink = Schemas["PortalLinkResponse"]["data"];

/** The calls about portal links. Each throws a `ContactbaseError` if the installation rejects it. */
export class PortalLinks {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  /**
   * Creates a link to the key's tenant, whose ID it needs. The key needs the permission `portal:link` or
   * `portal:link-admin`. A retry can leave a link that nobody uses, which expires.
   */
  async create(tenantId: string, link: PortalLinkOptions = {}, options: CallOptions = {}): Promise<PortalLink> {
    const params = { path: { id: tenantId } };
    const body = { role: "viewer", expiresIn: 3600, ...link } as const;
    return must(await this.#api.POST("/api/integrations/tenants/{id}/portal-link", { params, body, ...init(options) })).data;
  }
}
