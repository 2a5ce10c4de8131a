const { convert } = require("insomnia-importers");
const { description, report } = require("./optional.cjs");

convert(description).then(({ data: { resources } }) => {
  const requests = resources.filter(({ _type }) => _type === "request");
  const sent = requests
    .flatMap(({ headers, parameters }) => [...headers, ...parameters])
    .filter(({ disabled }) => !disabled);
  report(
    requests.length,
    sent.map(({ name }) => name),
  );
});
