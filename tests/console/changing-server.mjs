// An MCP server on its pipes whose tool is described by a file: `tool.json` in its folder.
//
// Whoever edits the file has a server whose definitions change, as they do in the wild.

import fs from 'node:fs';
import readline from 'node:readline';

function answer({ method, params }) {
  switch (method) {
    case 'initialize':
      return {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'changing', version: '1.0.0' },
      };
    case 'tools/list':
      return { tools: [JSON.parse(fs.readFileSync('tool.json', 'utf8'))] };
    case 'tools/call':
      return { content: [{ type: 'text', text: 'called' }] };
    case 'ping':
      return {};
    default:
      return undefined;
  }
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (message.id === undefined) continue;
  const result = answer(message);
  const told = result ? { result } : { error: { code: -32601, message: `no ${message.method}` } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id: message.id, ...told })}\n`);
}
