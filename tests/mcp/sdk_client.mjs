// A client written with the official TypeScript SDK: as sdk_client.py.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const seen = { progress: 0, questions: [], results: {} };
const [first, ...rest] = process.argv.slice(2);
const transport = first.startsWith("http")
  ? new StreamableHTTPClientTransport(new URL(first))
  : new StdioClientTransport({ command: first, args: rest, env: process.env });
const client = new Client({ name: "test", version: "1" }, { capabilities: { elicitation: {} } });
client.setRequestHandler(ElicitRequestSchema, async (request) => {
  seen.questions.push(request.params.message);
  return { action: "accept", content: { answer: "Ada" } };
});
await client.connect(transport);
for (const tool of (await client.listTools()).tools) {
  const name = Object.keys(tool.inputSchema.properties)[0];
  const onprogress = () => { seen.progress += 1; };
  const call = { name: tool.name, arguments: { [name]: "Lyon" } };
  const result = await client.callTool(call, undefined, { onprogress });
  seen.results[tool.name] = [result.content[0].text, result.isError ?? false];
}
await client.close();
console.log(JSON.stringify(seen));
