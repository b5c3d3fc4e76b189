// The modules of the dashboard and of the portal as ESLint sees them: as the server joins them, so that a name that no module declares
// is found, and one that no module uses. Those that both share are seen as part of the dashboard.

import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** How many lines of what is looked at are of the module itself, by its name. */
const ownLines = new Map();

/** A processor that puts the other modules behind each one, and leaves out what is said about those. */
export const joined = {
    meta: { name: "joined" },
    preprocess(text, filename) {
        const folder = dirname(filename);
        const folders = [join(folder, "../modules"), basename(folder) === "portal" ? folder : join(folder, "../superuser")];
        const files = folders.flatMap((each) => readdirSync(each).sort().map((name) => join(each, name)));
        const others = files.filter((name) => name.endsWith(".js") && name !== filename);
        ownLines.set(filename, text.split("\n").length);
        return [[text, ...others.map((name) => readFileSync(name, "utf8"))].join("\n")];
    },
    postprocess([messages], filename) {
        return messages.filter(({ line }) => line <= ownLines.get(filename));
    },
};
