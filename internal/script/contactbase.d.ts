/// <reference path="types.d.ts" />

/** What Contactbase adds to PocketBase's globals. */
declare namespace $contactbase {
    /** Options of an event. */
    interface EventOptions {
        /**
         * The ID of the contact that the event is about. The contact's page shows the event, and when the contact is deleted, the
         * data of the event is erased.
         */
        contact?: string | null
    }

    /**
     * Declares an event type that `emitEvent` can then emit, such as `order.paid`. The dashboard and the portal show it with its
     * sentence, such as "An order was paid". Call it at the top of a file: it throws an error once the server listens.
     */
    function declareEvent(type: string, sentence: string): void

    /**
     * Emits an event of a tenant. It writes the event in the transaction of `app`, such as `e.app` inside a hook. After the
     * commit, webhooks that list the type receive `data`, an object of at most 64 KiB of JSON. If `emitEvent` throws an error,
     * it has written nothing.
     */
    function emitEvent(app: core.App, tenantId: string, type: string, data: object, options?: EventOptions): void
}
