// The modules of the dashboard as ESLint sees them: as the server joins them, so that a name that no module declares is
// found, and one that no module uses.

import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** How many lines of what is looked at are of the module itself, by its name. */
const ownLines = new Map();

/** A processor that puts the other modules behind each one, and leaves out what is said about those. */
export const joined = {
    meta: { name: "joined" },
    preprocess(text, filename) {
        const folder = dirname(filename);
        const others = readdirSync(folder).filter((name) => name.endsWith(".js") && name !== basename(filename)).sort();
        ownLines.set(filename, text.split("\n").length);
        return [[text, ...others.map((name) => readFileSync(join(folder, name), "utf8"))].join("\n")];
    },
    postprocess([messages], filename) {
        return messages.filter(({ line }) => line <= ownLines.get(filename));
    },
};
