const { readFileSync } = require("node:fs");

const description = readFileSync(process.env.DESCRIPTION, "utf8");
const { paths, components } = JSON.parse(description);
const required = new Set(
  Object.values(paths)
    .flatMap((operations) => Object.values(operations))
    .flatMap(({ parameters }) => parameters)
    .map(({ $ref }) => components.parameters[$ref.split("/").at(-1)])
    .filter((parameter) => parameter.required)
    .map(({ name }) => name),
);

/**
 * Prints which of the parameters and headers that imported requests send are optional.
 *
 * @param {number} requests how many there are
 * @param {string[]} sent the names of what is switched on in them
 */
function report(requests, sent) {
  const optional = new Set(sent.filter((name) => name !== "X-API-Key" && !required.has(name)));
  console.log(`${requests} requests, optional ones sent: ${[...optional].join(", ") || "none"}`);
}

module.exports = { description, report };
