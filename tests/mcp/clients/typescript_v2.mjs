// The TypeScript SDK v2 as a client, in either era.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import { person, plan, seen, work } from './plan.mjs';

const [command, ...args] = plan.command ?? [];
const transport =
  plan.transport === 'http'
    ? new StreamableHTTPClientTransport(new URL(plan.url), { requestInit: { headers: plan.headers } })
    : new StdioClientTransport({ command, args, cwd: plan.folder, env: plan.env, stderr: 'inherit' });
const client = new Client(
  { name: 'typescript-v2', version: '1.0.0' },
  {
    capabilities: plan.elicit ? { elicitation: { form: {} } } : {},
    versionNegotiation: { mode: plan.era === 'modern' ? { pin: '2026-07-28' } : 'legacy' },
  },
);
if (plan.elicit) client.setRequestHandler('elicitation/create', async (request) => person(request));

await client.connect(transport);
seen.version = client.getNegotiatedProtocolVersion?.() ?? plan.era;
const options = { timeout: plan.patience * 1000 };
await work(
  (name, args) => client.callTool({ name, arguments: args }, options),
  (cursor) => client.listTools(cursor ? { cursor } : undefined),
);
await client.close();
console.log(JSON.stringify(seen));
