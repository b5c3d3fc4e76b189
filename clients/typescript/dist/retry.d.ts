/** How requests are sent. */
export interface Sending {
    fetch: typeof fetch;
    maxRetries: number;
    timeout: number;
    /** Waits for some milliseconds, or rejects with the reason of the signal. */
    pause?: (milliseconds: number, signal: AbortSignal) => Promise<void>;
}
/** Returns a function that retries a request until its response is final. */
export declare function retrying(sending: Sending): (request: Request) => Promise<Response>;
/** Returns the milliseconds in the response's Retry-After, if any. */
export declare function retryAfter(response: Response): number | undefined;
