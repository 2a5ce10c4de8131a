const { transformFileSync } = require("@babel/core");
const { writeFileSync } = require("node:fs");

// Replaces the documents by what relay-compiler made of them.
for (const file of ["relay.js", "relay-delete.js"]) {
  const plugins = [["babel-plugin-relay", { eagerEsModules: true, artifactDirectory: "./artifacts" }]];
  const { code } = transformFileSync(file, { plugins, configFile: false });
  writeFileSync(file, code.replace(/(\/artifacts\/\w+\.graphql)(?!\.js)/g, "$1.js"));
}
