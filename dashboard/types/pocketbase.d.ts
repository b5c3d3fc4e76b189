// What the modules use of PocketBase's dashboard.

declare const app: {
    pb: Client;
    store: {
        title: string;
        errors: object | null;
        settings?: { meta?: { appURL?: string, appName?: string } };
        settingsNavGroups: Record<string, NavigationLink[]>;
        creditLinks: NavigationLink[];
        headerLinks: NavigationLink[];
    };
    routes: {
        fallbackPath: string; // where addresses lead that no page has
        superuserOnly<Path extends string>(path: Path, page: (route: Route<ParameterOf<Path>>) => HTMLElement): void;
    };
    components: {
        pageSidebar(attributes: Attributes<HTMLElement>, ...children: Child[]): HTMLElement;
        credits(): HTMLElement;
    };
    modals: {
        open(modal: Element): Promise<void>;
        close(modal: Element, force: boolean): Promise<void>;
        getTop(): Element | undefined;
        openRecordUpsert(collection: { id: string } | null, record?: { id: string } | string | null, settings?: { onafteropen?: (modal: Element) => unknown }): unknown;
    };
    toasts: {
        success(text: string, options?: { duration?: number }): void;
        error(text: string, options?: { duration?: number }): void;
    };
    utils: {
        randomString(): string;
        toDatetimeLocalInputValue(time: Date): string;
        isActivePath(href: string, subPaths?: boolean): boolean;
    };
    /** Marks the fields that the error names, and leads to the login where the session has ended. */
    checkApiError(error: unknown, showToast?: boolean): void;
};

/** PocketBase's client, which knows the collections. */
interface Client extends Omit<import("pocketbase").default, "collection" | "afterSend"> {
    afterSend?: (response: Response, answer: unknown, options: import("pocketbase").SendOptions) => unknown;
    collection<Name extends keyof Records>(name: Name): import("pocketbase").RecordService<Records[Name]>;
}

interface NavigationLink {
    href: string;
    icon: string;
    label: string;
    isActive?: () => boolean;
}

/** The names in braces of a path. */
type ParameterOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | ParameterOf<Rest> : never;

interface Route<Parameter extends string> {
    params: Record<Parameter, string>;
    query: Record<string, string[]>;
}
