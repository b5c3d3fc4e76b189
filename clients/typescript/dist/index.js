export { Contactbase } from "./client.js";
export { etag, } from "./contacts.js";
export { ContactbaseError } from "./errors.js";
