// Shablon, with which PocketBase's dashboard makes its elements and keeps its data.

/** Makes an object whose changes render again what was made of it. */
declare function store<T extends object>(initial: T): T;

/** Runs the function, and again when what it has read of a store changes. */
declare function watch(run: () => unknown): unknown;

/** Shows what belongs to the address of the page, from now on. */
declare function router(pages: Record<string, (route: Route<string>) => unknown>, options: { fallbackPath: string }): unknown;

/** Makes elements by the names of their tags. */
declare const t: {
    [Tag in keyof HTMLElementTagNameMap]: (
        attributes?: Attributes<HTMLElementTagNameMap[Tag]> | null,
        ...children: Child[]
    ) => HTMLElementTagNameMap[Tag];
};

/** A boolean is none of these: it would be shown as a word. */
type Part = Node | string | number | null | undefined;

/** What is in an element. A function is asked again when the data changes; unlike others its list has no lists in it. */
type Child = Part | (() => Part | readonly Part[]) | readonly Child[];

/** A property's value, or a function that is asked for it again when the data changes; undefined removes the attribute. */
type Bound<Value> = Value | undefined | (() => Value | undefined);

type Properties<E> = {
    [Name in keyof E as E[Name] extends string | number | boolean | null ? Name : never]?: Bound<
        Name extends `aria${string}` ? E[Name] | boolean : E[Name]
    >;
};

type EventOf<Name extends keyof HTMLElementEventMap, E> = HTMLElementEventMap[Name] & { currentTarget: E };

type Handlers<E> = {
    [Name in keyof HTMLElementEventMap as `on${Name}`]?: (event: EventOf<Name, E>) => unknown;
};

type Attributes<E> = Properties<E> & Handlers<E> & {
    /** An element in a list stays as it is for as long as there is one of the same rid. */
    rid?: string | number;
    /** Set through the object model, which the content security policy allows. */
    style?: Bound<string>;
    onmount?: (element: E) => unknown;
    onunmount?: (element: E) => unknown;
    /** Called on a modal. */
    onafterclose?: (element: E) => unknown;
    /** An attribute as HTML has it, instead of the property. */
    [name: `html-${string}`]: Bound<string | number>;
};
