/** Swagger UI, which the page loads before its own script. */
declare function SwaggerUIBundle(options: object): unknown;
