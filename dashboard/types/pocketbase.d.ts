// What the modules use of PocketBase's dashboard. The portal has its own: portal/app.js.

declare const app: App;

interface App {
    pb: Client;
    store: AppStore;
    routes: {
        fallbackPath: string; // where addresses lead that no page has
        superuserOnly<Path extends string>(path: Path, page: (route: Route<ParameterOf<Path>>) => HTMLElement): void; // in the portal, for members
    };
    components: AppComponents;
    modals: AppModals;
    toasts: {
        success(text: string, options?: { duration?: number }): void;
        error(text: string, options?: { duration?: number }): void;
    };
    utils: {
        randomString(): string;
        toDatetimeLocalInputValue(time: Date): string;
        isActivePath(href: string, subPaths?: boolean): boolean;
    };
    /** Leads to the login where the session has ended. */
    checkApiError(error: unknown, showToast?: boolean): void;
}

interface AppStore {
    title: string;
    errors: object | null;
    settings?: { meta?: { appURL?: string, appName?: string } };
}

interface AppComponents {
    credits(): HTMLElement;
}

interface AppModals {
    open(modal: Element): Promise<void>;
    close(modal: Element, force: boolean): Promise<void>;
    getTop(): Element | undefined;
}

/** What the modules use of PocketBase's client, which knows the collections. */
interface Client {
    authStore: { token: string; record: { collectionName: string } | null };
    afterSend?: (response: Response, answer: unknown, options: import("pocketbase").SendOptions) => unknown;
    buildURL(path: string): string;
    filter(expression: string, parameters: Record<string, string>): string;
    send<T>(path: string, options: import("pocketbase").SendOptions): Promise<T>;
    collection<Name extends keyof Records>(name: Name): RecordService<Records[Name]>;
}

type RecordService<R> = Pick<import("pocketbase").RecordService<R>, "getList" | "getOne" | "create" | "update" | "delete">;

interface NavigationLink {
    href: string;
    icon: string;
    label: string;
    isActive?: () => boolean;
}

/** The names in braces of a path. */
type ParameterOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | ParameterOf<Rest> : never;

interface Route<Parameter extends string> {
    path: string; // the whole address
    params: Record<Parameter, string>;
    query: Record<string, string[]>;
}
