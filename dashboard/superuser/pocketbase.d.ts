// What only the pages of superusers use of PocketBase's dashboard.

interface AppStore {
    settingsNavGroups: Record<string, NavigationLink[]>;
    creditLinks: NavigationLink[];
    headerLinks: NavigationLink[];
}

interface AppComponents {
    pageSidebar(attributes: Attributes<HTMLElement>, ...children: Child[]): HTMLElement;
}

interface AppModals {
    openRecordUpsert(collection: { id: string } | null, record?: { id: string } | string | null, settings?: { onafteropen?: (modal: Element) => unknown }): unknown;
}
