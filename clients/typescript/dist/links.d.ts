import { type Api, type CallOptions } from "./call.js";
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
export declare class PortalLinks {
    #private;
    constructor(api: Api);
    /**
     * Creates a link to the key's tenant, whose ID it needs. The key needs the permission `portal:link` or
     * `portal:link-admin`. A retry can leave a link that nobody uses, which expires.
     */
    create(tenantId: string, link?: PortalLinkOptions, options?: CallOptions): Promise<PortalLink>;
}
export {};
