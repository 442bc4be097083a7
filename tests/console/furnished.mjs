// A workspace in which something has happened, and the address of every page about it.

import fs from 'node:fs';
import path from 'node:path';

const SERVER = fs.readFileSync(path.join(import.meta.dirname, 'changing-server.mjs'), 'utf8');

/** The definition of the tool of the server behind the hub. */
export function noteTaker(description) {
  const inputSchema = { type: 'object', properties: { note: { type: 'string', description: 'A note' } } };
  return JSON.stringify({ name: 'take_note', description, inputSchema });
}

/** Two servers behind the hub: one that describes itself in `tool.json`, and one that is broken. */
export const SERVERS = {
  'notes-server.mjs': SERVER,
  'tool.json': noteTaker('Takes a note. Use it when something must not be forgotten.'),
  '.mcp.json': JSON.stringify({
    mcpServers: {
      notes: { command: 'node', args: ['notes-server.mjs'] },
      broken: { command: 'node', args: ['-e', 'process.exit(1)'] },
    },
  }),
};

const TIDY = `\
name = "tidy"
title = "Tidy the project"
description = "Tidies the whole project. Use it when files have become a mess."
category = "project"
risk = "write"
idempotent = true
allowed_paths = ["src"]

[executor]
type = "host"
command = ["sh", "tidy.sh"]

[input_schema]
type = "object"
additionalProperties = false
properties = {}
`;

const SCRIPT = `\
set -eu
cd src
echo "looking at $(ls | wc -l) files"
sed -i 's/colour/color/' paint.rs
sed -i 's/print(name)/print(f"hello, {name}")/' greet.py
printf '# Source\\n\\n- greet.py\\n- paint.rs\\n' > README.md
echo done
`;

export const PAINT = `\
/// A colour on the screen.
pub struct Paint {
    red: u8,
    green: u8,
    blue: u8,
}

impl Paint {
    pub const fn grey(level: u8) -> Self {
        Self { red: level, green: level, blue: level }
    }
}
`;

export const GREET = `\
def greet(name):
    print(name)


if __name__ == "__main__":
    greet("Ann")
`;

/** What lies in the workspace: a little project, and a tool that changes several files of it. */
export const PROJECT = {
  'src/paint.rs': PAINT,
  'src/greet.py': GREET,
  'tidy.sh': SCRIPT,
  'tools/project/tidy.toml': TIDY,
  ...SERVERS,
};

/** Lets an agent work for a while in the `PROJECT`: runs of several kinds, one that can be undone, what waits for people. */
export async function furnish(hub) {
  await hub.agent.call('file_read', { path: 'src/paint.rs' });
  await hub.agent.call('file_read', { path: 'nowhere.txt' });
  const written = await hub.agent.asks('file_write', { path: 'notes.md', content: '# Notes\n\nhello\n' });
  await hub.person.must('POST', `/approvals/${written.approval}/approve`, {});
  await hub.agent.ended(written.run);
  const denied = await hub.agent.asks('file_delete', { path: 'src/paint.rs' });
  await hub.person.must('POST', `/approvals/${denied.approval}/deny`, { reason: 'it is in use' });
  const edit = { path: 'src/greet.py', old_string: 'print(name)', new_string: 'print(f"hello, {name}")' };
  const waiting = await hub.agent.asks('file_edit', edit);
  await changeServer(hub);
  const confirming = await hub.agent.call('human_confirm', { action: 'Delete the old branches' }, 'nothing');
  await hub.person.question(confirming.meta.run_id);
  const asking = await hub.agent.call('human_input', { question: 'Which branch?', options: ['main', 'next'] }, 'nothing');
  const question = await hub.person.question(asking.meta.run_id);
  return { written, denied, waiting, question: question.id, asking: asking.meta.run_id };
}

/** A definition of the server behind the hub becomes another, and waits for a person. */
export async function changeServer(hub, description = 'Takes a note, and reads all others. Use it at any time.') {
  await hub.person.must('POST', '/upstreams/notes/test');
  await hub.person.ask('POST', '/upstreams/broken/test');
  hub.write('tool.json', noteTaker(description));
  await hub.person.must('POST', '/upstreams/notes/test');
}

/** The address of every kind of page, for whoever has signed in. */
export function everyPage({ written, denied, waiting }) {
  return [
    '/console',
    '/console/inbox',
    `/console/inbox/${waiting.approval}`,
    `/console/inbox/${waiting.approval}/remember`,
    `/console/inbox/${denied.approval}`,
    '/console/runs',
    '/console/runs?state=failed',
    `/console/runs/${written.run}`,
    `/console/runs/${written.run}/undo`,
    `/console/runs/${denied.run}`,
    `/console/runs/${waiting.run}`,
    '/console/tools',
    '/console/tools?q=file',
    '/console/tools/file_write',
    '/console/tools/human_input',
    '/console/servers',
    '/console/audit',
    '/console/audit/1',
  ];
}
