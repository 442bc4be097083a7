// The TypeScript SDK v1 as a client. It knows the older era only.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';

import { person, plan, seen, work } from './plan.mjs';

const [command, ...args] = plan.command ?? [];
const transport =
  plan.transport === 'http'
    ? new StreamableHTTPClientTransport(new URL(plan.url), { requestInit: { headers: plan.headers } })
    : new StdioClientTransport({ command, args, cwd: plan.folder, env: plan.env, stderr: 'inherit' });
const capabilities = plan.elicit ? { elicitation: {} } : {};
const client = new Client({ name: 'typescript-v1', version: '1.0.0' }, { capabilities });
if (plan.elicit) client.setRequestHandler(ElicitRequestSchema, async (request) => person(request));

await client.connect(transport);
seen.version = transport.protocolVersion ?? 'legacy';
const options = { timeout: plan.patience * 1000 };
await work(
  (name, args) => client.callTool({ name, arguments: args }, undefined, options),
  (cursor) => client.listTools(cursor ? { cursor } : undefined),
);
await client.close();
console.log(JSON.stringify(seen));
