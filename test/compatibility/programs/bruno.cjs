const { openApiToBruno } = require("@usebruno/converters");
const { description, report } = require("./optional.cjs");

const { items } = openApiToBruno(JSON.parse(description));
const requests = items.flatMap((folder) => folder.items).map(({ request }) => request);
const sent = requests
  .flatMap(({ headers, params }) => [...headers, ...params])
  .filter(({ enabled }) => enabled);
report(
  requests.length,
  sent.map(({ name }) => name),
);
