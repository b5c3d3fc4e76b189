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
     * Declares an event type that `emitEvent` can then emit, such as `order.paid`. Webhooks select it by its sentence, such as
     * "An order was paid". Call it at the top of a file: it throws an error once the server listens.
     */
    function declareEvent(type: string, sentence: string): void

    /**
     * Emits an event of a tenant. It is written in the transaction of `app`, such as `e.app` inside a hook, and sent after the
     * commit. Webhooks that list the type receive `data`, an object of at most 64 KiB of JSON. If it throws an error, it has
     * written nothing.
     */
    function emitEvent(app: core.App, tenantId: string, type: string, data: object, options?: EventOptions): void
}
