module.exports = {
  contactbase: {
    input: "openapi.json",
    output: { target: "generated/orval/client.ts", schemas: "generated/orval/model", client: "fetch" },
  },
};
