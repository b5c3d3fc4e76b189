import { init } from "./call.js";
import { must } from "./errors.js";
/** The calls about portal links. Each throws a `ContactbaseError` if the installation rejects it. */
export class PortalLinks {
    #api;
    constructor(api) {
        this.#api = api;
    }
    /**
     * Creates a link to the key's tenant, whose ID it needs. The key needs the permission `portal:link` or
     * `portal:link-admin`. A retry can leave a link that nobody uses, which expires.
     */
    async create(tenantId, link = {}, options = {}) {
        const params = { path: { id: tenantId } };
        const body = { role: "viewer", expiresIn: 3600, ...link };
        return must(await this.#api.POST("/api/integrations/tenants/{id}/portal-link", { params, body, ...init(options) })).data;
    }
}
