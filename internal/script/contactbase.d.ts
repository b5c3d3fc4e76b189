/// <reference path="types.d.ts" />

/** What Contactbase adds to PocketBase's globals. */
declare namespace $contactbase {
}
