import js from "@eslint/js";
import { defineConfig } from "eslint/config";
import globals from "globals";

import { joined } from "./joined.js";

/** Globals of browsers that are rather a variable that was forgotten. */
const confusing = [
    "blur", "close", "closed", "event", "external", "find", "focus", "frames", "history", "length", "name", "open", "origin", "parent", "print",
    "scroll", "self", "status", "stop", "top",
];

export default defineConfig([
    js.configs.recommended,
    {
        linterOptions: { reportUnusedDisableDirectives: "error" },
        rules: {
            "array-callback-return": ["error", { checkForEach: true, allowImplicit: true }],
            "default-case-last": "error",
            "eqeqeq": "error",
            "no-constructor-return": "error",
            "no-eval": "error",
            "no-extend-native": "error",
            "no-implicit-coercion": "error",
            "no-implied-eval": "error",
            "no-loop-func": "error",
            "no-new-func": "error",
            "no-promise-executor-return": "error",
            "no-restricted-globals": ["error", ...confusing],
            "no-script-url": "error",
            "no-self-compare": "error",
            "no-sequences": "error",
            "no-shadow": ["error", { builtinGlobals: false }],
            "no-template-curly-in-string": "error",
            "no-throw-literal": "error",
            "no-unmodified-loop-condition": "error",
            "no-unreachable-loop": "error",
            "no-use-before-define": ["error", { functions: false, variables: false }],
            "no-var": "error",
            "prefer-const": "error",
            "prefer-promise-reject-errors": "error",
            "radix": "error",
        },
    },
    {
        files: ["dashboard/*/*.js"],
        processor: joined,
        languageOptions: { globals: { ...globals.browser, app: "readonly", store: "readonly", watch: "readonly", t: "readonly", router: "readonly", programVersion: "readonly" } },
    },
    {
        files: ["dashboard/*/main.js"],
        rules: { "no-use-before-define": "off" }, // it comes last, when all others have been declared
    },
    { files: ["pb_public/*.js", "docs/site/assets/*.js"], languageOptions: { globals: globals.browser } },
    { files: ["e2e/receiver/*.mjs", ".ci/javascript/*.js"], languageOptions: { globals: globals.node } },
]);
